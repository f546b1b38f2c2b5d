"""An example of every body. Request examples work when pasted, except for ids."""

from __future__ import annotations

from typing import Any

AGENT = "agt_0123456789"
EPISODE = f"eps_{AGENT[4:]}_0"
_EARLIER, _LATER = "2026-01-02T03:04:05.678000Z", "2026-01-02T03:05:06.789000Z"

NEW_AGENT: dict[str, Any] = {
    "name": "lake",
    "states": {"kind": "discrete", "n": 16},
    "actions": {"kind": "discrete", "n": 4},
    "horizon": 100,
    "features": {"kind": "one_hot", "over": ["state"], "steps": "last"},
    "algorithm": {"kind": "thompson"},
    "seed": 7,
}
_SUCCESS: dict[str, Any] = {
    "episodes": 200,
    "good": 149,
    "success": 0.745,
    "low": 0.634,
    "high": 0.838,
    "at_least": 0.643,
}
AGENT_CHANGES: dict[str, Any] = {"name": "pond", "paused": True}
AGENT_VIEW: dict[str, Any] = {
    **NEW_AGENT,
    "algorithm": {
        "kind": "thompson",
        "epsilon": 0.02,
        "draws": 2,
        "spread": 0.35,
        "visit_bonus": 0.07,
        "prior_deviation": 3.0,
    },
    "initial_states": None,
    "labels_wanted": 1,
    "label_timeout": None,
    "default_label": None,
    "running_timeout": None,
    "wait": True,
    "id": AGENT,
    "metadata": {},
    "display": {"kind": "grid", "rows": 4, "cols": 4},
    "question": "Did it reach the flag without falling into a hole?",
    "guidelines": "Good: it stands at the flag at the end.\nBad: anything else.",
    "guidelines_version": 1,
    "examples": {"good": ["eps_0123456789_3"], "bad": []},
    "paused": False,
    "created_at": _EARLIER,
    "episodes": {
        "running": 0,
        "awaiting_label": 1,
        "labelled": 41,
        "completed": 0,
        "abandoned": 0,
    },
    "policy_version": 83,
    "pinned_version": None,
    "learning": "idle",
    "learning_error": None,
    "success_rate": 0.63,
    "evaluation": {
        **_SUCCESS,
        "recent": _SUCCESS,
        "versions": [{**_SUCCESS, "policy_version": 83}],
    },
    "plan": {
        "planner": "fast",
        "value": 0.71,
        "optimistic_value": 0.93,
        "gap": 0.004,
        "seconds": 0.02,
    },
    "timing": {"learning_seconds": 0.03, "episode_seconds": 12.4, "wait_seconds": 0.01},
    "progress": {},
    "warnings": [],
}
NEW_AGENT_VIEW: dict[str, Any] = {
    **AGENT_VIEW,
    "display": None,
    "question": None,
    "guidelines": None,
    "guidelines_version": 0,
    "examples": {"good": [], "bad": []},
    "episodes": dict.fromkeys(AGENT_VIEW["episodes"], 0),
    "policy_version": 0,
    "learning": "queued",
    "success_rate": None,
    "evaluation": None,
    "plan": None,
}
GUIDELINES: dict[str, Any] = {
    "items": [
        {
            "version": 1,
            "question": AGENT_VIEW["question"],
            "guidelines": AGENT_VIEW["guidelines"],
            "at": _EARLIER,
        }
    ]
}
AGENT_PAGE: dict[str, Any] = {"items": [AGENT_VIEW], "next": None}

NEW_EPISODE: dict[str, Any] = {"external_id": "run-17"}
EPISODE_SUMMARY: dict[str, Any] = {
    "id": EPISODE,
    "agent": AGENT,
    "number": 0,
    "external_id": "run-17",
    "mode": "learn",
    "learn_transitions": True,
    "status": "labelled",
    "label_required": True,
    "labels_wanted": 1,
    "labels_given": 1,
    "cannot_tell": 0,
    "label": 1,
    "policy_version": 0,
    "horizon": 100,
    "length": 2,
    "metadata": {},
    "created_at": _EARLIER,
    "finished_at": _LATER,
    "labelled_at": _LATER,
    "information": None,
}
STARTED_EPISODE: dict[str, Any] = {
    **EPISODE_SUMMARY,
    "status": "running",
    "labels_given": 0,
    "cannot_tell": 0,
    "label": None,
    "length": 0,
    "finished_at": None,
    "labelled_at": None,
    "first_step": None,
}
EPISODE_VIEW: dict[str, Any] = {
    **EPISODE_SUMMARY,
    "steps": [
        {
            "step": 0,
            "state": 0,
            "action": 1,
            "answered": 1,
            "actor": "policy",
            "allowed": None,
            "share": 0.0,
        },
        {
            "step": 1,
            "state": 4,
            "action": 2,
            "answered": 0,
            "actor": "override",
            "allowed": [0, 2],
            "share": 0.0,
        },
    ],
    "final": 15,
    "terminated": True,
    "verdicts": [{"label": 1, "labeller": "Ada", "at": _LATER}],
    "undecided": [],
    "labels": [
        {
            "label": 1,
            "labeller": "Ada",
            "comment": "clean grasp",
            "at": _LATER,
            "cannot_tell": False,
            "guidelines_version": 1,
            "seconds": 6.4,
        }
    ],
    "predicted": 0.81,
    "after_end": 1.45,
}
EPISODE_PAGE: dict[str, Any] = {"items": [EPISODE_SUMMARY], "next": None}

STEP: dict[str, Any] = {"state": 3, "step": 0}
STEP_ANSWER: dict[str, Any] = {"step": 0, "action": 2, "last": False}
MANY_STEPS: dict[str, Any] = {"steps": [{"episode": EPISODE, **STEP}]}
MANY_STEPS_ANSWER: dict[str, Any] = {"results": [{"episode": EPISODE, **STEP_ANSWER}]}
FINISH: dict[str, Any] = {"state": 15}

MANY_STARTS: dict[str, Any] = {"episodes": [{"agent": AGENT, "state": 3, "wait": False}]}
MANY_STARTS_ANSWER: dict[str, Any] = {
    "results": [
        {
            "agent": AGENT,
            "result": {
                **STARTED_EPISODE,
                "external_id": None,
                "length": 1,
                "first_step": STEP_ANSWER,
            },
        }
    ]
}
MANY_FINISHES: dict[str, Any] = {"finishes": [{"episode": EPISODE, "state": 15, "label": 1}]}
MANY_FINISHES_ANSWER: dict[str, Any] = {
    "results": [{"episode": EPISODE, "result": EPISODE_SUMMARY}]
}

VERDICT: dict[str, Any] = {"label": 1, "comment": "clean grasp", "labeller": "Ada"}
VERDICT_ANSWER: dict[str, Any] = {
    "episode": EPISODE,
    "label": 1,
    "labels_given": 1,
    "verdicts": 1,
    "labels_wanted": 1,
    "cannot_tell": 0,
    "status": "labelled",
    "learning": "queued",
    "policy_version": 0,
}

MANY_LABELS: dict[str, Any] = {"labels": [{"episode": EPISODE, **VERDICT}]}
MANY_LABELS_ANSWER: dict[str, Any] = {"results": [{"episode": EPISODE, "result": VERDICT_ANSWER}]}

RECORDING = {
    "episode": "eps_0123456789_0",
    "media_type": "video/mp4",
    "size": 48213,
    "at": "2026-01-31T12:00:09Z",
}
TRAJECTORIES: dict[str, Any] = {
    "trajectories": [{"states": [0, 4, 8], "actions": [1, 1], "label": 0}]
}
TRAJECTORIES_ANSWER: dict[str, Any] = {
    "agent": AGENT,
    "imported": 1,
    "first": EPISODE,
    "last": EPISODE,
    "learning": "queued",
}

NEW_DEMO: dict[str, Any] = {"task": "frozenlake-4x4", "judge": "simulated", "episodes": 150}
DEMO_TASK: dict[str, Any] = {
    "name": "frozenlake-4x4",
    "title": "Frozen lake",
    "about": "Cross a slippery lake to the goal in the corner. Holes end the episode.",
}
DEMO: dict[str, Any] = {
    "agent": AGENT,
    "task": DEMO_TASK,
    "judge": "simulated",
    "running": True,
    "episodes": 150,
    "played": 41,
    "evaluations": 50,
    "evaluated": 0,
    "random_success": 0.014,
    "best_success": 0.745,
}
DEMO_LIST: dict[str, Any] = {"tasks": [DEMO_TASK], "items": [DEMO]}
NEW_KEY: dict[str, Any] = {"name": "arm-3", "role": "robot"}
KEY: dict[str, Any] = {
    **NEW_KEY,
    "agents": None,
    "id": "key_0123456789abcdef",
    "created_at": _EARLIER,
    "revoked_at": None,
}
CREATED_KEY: dict[str, Any] = {**KEY, "secret": "plk_…"}
NEW_WEBHOOK: dict[str, Any] = {
    "url": "https://hooks.example/plaudit",
    "events": ["label.wanted", "learning.failed"],
}
WEBHOOK: dict[str, Any] = {
    **NEW_WEBHOOK,
    "id": "whk_0123456789abcdef",
    "agent": None,
    "created_at": "2026-01-01T12:00:00Z",
    "old_secret_until": None,
}
CREATED_WEBHOOK: dict[str, Any] = {**WEBHOOK, "secret": "whsec_…"}
DELIVERY: dict[str, Any] = {
    "id": "dlv_7",
    "event": "label.wanted",
    "agent": AGENT,
    "episode": EPISODE,
    "status": "pending",
    "attempts": 1,
    "response_status": 500,
    "error": "The answer was 500.",
    "created_at": "2026-01-01T12:00:00Z",
    "attempted_at": "2026-01-01T12:00:01Z",
    "next_attempt_at": "2026-01-01T12:00:11Z",
}
KEY_LIST: dict[str, Any] = {"items": [KEY]}

HEALTH: dict[str, Any] = {"status": "ok", "version": "0.1.0"}

MODEL: dict[str, Any] = {
    "agent": AGENT,
    "policy_version": 2,
    "features": "one-hot over state at the last step",
    "weights": [-0.4, 1.2],
    "intercept": -0.1,
    "visits": [[3, 1], [0, 2]],
    "bonuses": [[0.01, 0.02], [0.07, 0.015]],
    "start": [1.0, 0.0],
    "optimism": None,
    "transitions": [
        {
            "state": 0,
            "action": 1,
            "followers": [{"state": 1, "ended": False, "probability": 1.0}],
        }
    ],
}
POLICY: dict[str, Any] = {
    "agent": AGENT,
    "policy_version": 2,
    "episode_number": 1,
    "label_required": True,
    "horizon": 100,
    "seed": "7",
    "generator": "splitmix64",
    "states": {"kind": "discrete", "n": 16},
    "actions": {"kind": "discrete", "n": 4},
    "allowed": [],
    "policy": {"kind": "uniform", "actions": 4},
}
CURVE: dict[str, Any] = {
    "agent": AGENT,
    "observed": [{"episode": 0, "labels": 1, "success": 1.0, "low": 0.207, "high": 1.0}],
    "policies": [
        {
            "version": 2,
            "episodes": 1,
            "labels": 1,
            "planner": "fast",
            "optimistic_value": 0.93,
            "value": 0.93,
            "gap": 0.004,
            "predicted": 0.66,
            "seconds": 0.02,
            "at": _LATER,
        }
    ],
}

POLICY_VERSION: dict[str, Any] = {
    "version": 83,
    "episodes": 42,
    "labels": 41,
    "predicted": 0.71,
    "evaluation": _SUCCESS,
    "planner": "fast",
    "optimistic_value": 0.93,
    "gap": 0.004,
    "seconds": 0.02,
    "at": _LATER,
    "in_force": True,
    "pinned": False,
}
POLICY_VERSION_PAGE: dict[str, Any] = {"items": [POLICY_VERSION], "next": None}


# By the name of the schema. They are added last, because FastAPI drops nulls.
SCHEMAS: dict[str, dict[str, Any]] = {
    "NewAgent": NEW_AGENT,
    "AgentChanges": AGENT_CHANGES,
    "AgentView": AGENT_VIEW,
    "AgentPage": AGENT_PAGE,
    "GuidelinesPage": GUIDELINES,
    "PolicyVersionView": POLICY_VERSION,
    "PolicyVersionPage": POLICY_VERSION_PAGE,
    "NewEpisode": NEW_EPISODE,
    "EpisodeSummary": EPISODE_SUMMARY,
    "EpisodeView": EPISODE_VIEW,
    "EpisodePage": EPISODE_PAGE,
    "Step": STEP,
    "ExplainedStepAnswer": STEP_ANSWER,
    "ManySteps": MANY_STEPS,
    "ManyStepsAnswer": MANY_STEPS_ANSWER,
    "Finish": FINISH,
    "NewLabel": VERDICT,
    "LabelAnswer": VERDICT_ANSWER,
    "StartedEpisode": STARTED_EPISODE,
    "ManyStarts": MANY_STARTS,
    "ManyStartsAnswer": MANY_STARTS_ANSWER,
    "ManyFinishes": MANY_FINISHES,
    "ManyFinishesAnswer": MANY_FINISHES_ANSWER,
    "ManyLabels": MANY_LABELS,
    "ManyLabelsAnswer": MANY_LABELS_ANSWER,
    "RecordingView": RECORDING,
    "Trajectories": TRAJECTORIES,
    "TrajectoriesAnswer": TRAJECTORIES_ANSWER,
    "NewDemo": NEW_DEMO,
    "DemoView": DEMO,
    "DemoList": DEMO_LIST,
    "NewKey": NEW_KEY,
    "CreatedKey": CREATED_KEY,
    "NewWebhook": NEW_WEBHOOK,
    "WebhookView": WEBHOOK,
    "CreatedWebhook": CREATED_WEBHOOK,
    "WebhookList": {"items": [WEBHOOK]},
    "DeliveryPage": {"items": [DELIVERY], "next": None},
    "KeyList": KEY_LIST,
    "Health": HEALTH,
    "ModelView": MODEL,
    "PolicyView": POLICY,
    "CurveView": CURVE,
}
# By operation, where its response differs from the example of its schema.
ANSWERS: dict[str, dict[str, Any]] = {
    "create_agent": NEW_AGENT_VIEW,
}
