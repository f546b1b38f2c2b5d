"""Episodes driven through random calls, right and wrong ones, against a model of the contract."""

from dataclasses import dataclass, field
from itertools import count

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.support.running import LAKE

S, A, H = 3, 2, 3
STATES = st.integers(0, S - 1)
NO_STATES = st.sampled_from([-1, S, 10**30, "0", 0.5, [0.0], True])
NO_LABELS = st.sampled_from([2, -1, "1", 0.5, None, [1]])
LABELS = st.sampled_from([0, 1, False, True])
LABELLERS = st.sampled_from([None, "Ada", "Bob"])
OVER = ("awaiting_label", "labelled", "abandoned")


@dataclass
class Modelled:
    """What the contract says that an episode is."""

    id: str
    agent: str
    number: int
    version: int
    mode: str
    status: str = "running"
    steps: list = field(default_factory=list)  # (state, action)
    final: int | None = None
    terminated: bool = False
    labels_wanted: int = 1
    said: dict = field(default_factory=dict)  # the verdict of each labeller
    labels: list = field(default_factory=list)  # every label it was given, None where withdrawn
    gone: bool = False

    def voice(self, labeller):
        return labeller if self.labels_wanted > 1 else "everybody"

    def has_room(self, labeller):
        return self.voice(labeller) in self.said or len(self.said) < self.labels_wanted

    @property
    def label(self):
        good = sum(self.said.values())
        return int(good > len(self.said) - good) if self.status == "labelled" else None

    def judge(self, labeller, label):
        if label is None:
            del self.said[self.voice(labeller)]
        else:
            self.said[self.voice(labeller)] = label
        full = len(self.said) == self.labels_wanted
        self.status = "labelled" if full else "awaiting_label"
        self.labels.append(label)


class Life(RuleBasedStateMachine):
    """The life of agents and their episodes."""

    episodes = Bundle("episodes")

    def __init__(self, client):
        super().__init__()
        self.client = client
        self.agent = None
        self.paused = False
        self.all = []
        self.keys = count()

    def call(self, method, path, status, body=None, code=None, **options):
        """A request whose answer must have this status, and this code where it is a problem."""
        answer = self.client.request(method, path, json=body, **options)
        assert answer.status_code == status, (method, path, body, answer.text)
        if status == 204:
            return None
        found = answer.json()
        if status >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
            assert code is None or found["code"] == code
        return found

    def mine(self):
        return [one for one in self.all if not one.gone]

    @initialize(kind=st.sampled_from(["uniform", "thompson"]))
    def create(self, kind):
        body = LAKE | {
            "states": {"kind": "discrete", "n": S},
            "actions": {"kind": "discrete", "n": A},
            "horizon": H,
            "algorithm": {"kind": kind},
        }
        self.agent = self.call("POST", "/v1/agents", 201, body)["id"]
        self.paused = False

    @precondition(lambda self: len(self.mine()) > 2)
    @rule(kind=st.sampled_from(["uniform", "thompson"]))
    def replace_the_agent(self, kind):
        self.call("DELETE", f"/v1/agents/{self.agent}", 204)
        self.call("DELETE", f"/v1/agents/{self.agent}", 404)
        self.call("POST", f"/v1/agents/{self.agent}/episodes", 404)
        for one in self.mine():
            one.gone = True
            self.call("GET", f"/v1/episodes/{one.id}", 404)
        self.create(kind)

    @rule(paused=st.booleans())
    def pause(self, paused):
        self.call("PATCH", f"/v1/agents/{self.agent}", 200, {"paused": paused})
        self.paused = paused

    @rule(
        target=episodes,
        mode=st.sampled_from(["learn", "exploit"]),
        wanted=st.sampled_from([1, 1, 2]),
        again=st.booleans(),
    )
    def start(self, mode, wanted, again):
        body = {"mode": mode, "wait": False} | ({} if wanted == 1 else {"labels_wanted": wanted})
        path = f"/v1/agents/{self.agent}/episodes"
        if self.paused:
            self.call("POST", path, 409, body, "agent_paused")
            self.pause(False)
        headers = {"Idempotency-Key": f"{self.agent} {next(self.keys)}"}
        view = self.call("POST", path, 201, body, headers=headers)
        if again:
            assert self.call("POST", path, 201, body, headers=headers) == view
            other = body | {"metadata": {"another": "body"}}
            self.call("POST", path, 409, other, "idempotency_key_reused", headers=headers)
        assert view["number"] == len(self.mine())
        assert (view["status"], view["mode"], view["length"]) == ("running", mode, 0)
        one = Modelled(view["id"], self.agent, view["number"], view["policy_version"], mode)
        one.labels_wanted = wanted
        self.all.append(one)
        return one

    @rule(one=episodes, state=STATES, numbered=st.booleans())
    def step(self, one, state, numbered):
        body = {"state": state} | ({"step": len(one.steps)} if numbered else {})
        self.take(one, body, state)

    @rule(one=episodes, states=st.lists(STATES, min_size=H, max_size=H))
    def step_to_the_end(self, one, states):
        for state in states[len(one.steps) :]:
            self.step(one, state, True)

    def take(self, one, body, state):
        path = f"/v1/episodes/{one.id}/steps"
        if one.gone:
            self.call("POST", path, 404, body)
        elif one.status != "running":
            self.call("POST", path, 409, body, "episode_over")
        else:
            self.taken(one, state, self.call("POST", path, 200, body))

    def taken(self, one, state, answer):
        assert answer["step"] == len(one.steps)
        assert answer["action"] in range(A)
        one.steps.append((state, answer["action"]))
        assert answer["last"] == (len(one.steps) == H)
        if answer["last"]:
            one.status = "awaiting_label"

    @precondition(lambda self: any(len(one.steps) > 0 for one in self.mine()))
    @rule(data=st.data())
    def repeat_the_last_step(self, data):
        one = data.draw(st.sampled_from([one for one in self.mine() if one.steps]))
        state, action = one.steps[-1]
        last = len(one.steps) - 1
        path = f"/v1/episodes/{one.id}/steps"
        answer = self.call("POST", path, 200, {"state": state, "step": last})
        assert answer == {"step": last, "action": action, "last": last == H - 1}
        other = {"state": (state + 1) % S, "step": last}
        self.call("POST", path, 409, other, "step_conflict")

    @rule(one=episodes, state=STATES, away=st.sampled_from([-3, -2, 1, 2, 100]))
    def step_out_of_order(self, one, state, away):
        step = len(one.steps) + away
        if not one.gone and step >= 0:
            body = {"state": state, "step": step}
            self.call("POST", f"/v1/episodes/{one.id}/steps", 409, body, "step_out_of_order")

    @rule(one=episodes, state=NO_STATES)
    def step_in_no_state(self, one, state):
        if not one.gone:
            self.call("POST", f"/v1/episodes/{one.id}/steps", 422, {"state": state})

    @rule(some=st.lists(st.tuples(episodes, STATES), min_size=1, max_size=4))
    def step_many(self, some):
        body = {"steps": [{"episode": one.id, "state": state} for one, state in some]}
        results = self.call("POST", "/v1/steps", 200, body)["results"]
        assert [result["episode"] for result in results] == [one.id for one, _ in some]
        for (one, state), result in zip(some, results, strict=True):
            if one.gone:
                assert result["problem"]["status"] == 404
            elif one.status != "running":
                assert result["problem"]["code"] == "episode_over"
            else:
                assert "problem" not in result
                self.taken(one, state, result)

    @rule(one=episodes, state=st.none() | STATES, terminated=st.sampled_from([None, True, False]))
    def finish(self, one, state, terminated):
        path = f"/v1/episodes/{one.id}/finish"
        body = {"state": state, "terminated": terminated}
        if one.gone:
            self.call("POST", path, 404, body)
        elif one.status == "running":
            view = self.call("POST", path, 200, body)
            one.status, one.final = "awaiting_label", state
            one.terminated = terminated is not False
            assert view["status"] == one.status
        elif self.may_report(one) and state is not None:
            self.call("POST", path, 200, body)
            one.final, one.terminated = state, terminated is True
        elif self.says_nothing(one, state, terminated):
            self.call("POST", path, 200, body)
        else:
            self.call("POST", path, 409, body)

    @staticmethod
    def says_nothing(one, state, terminated):
        """After the last step a finish that reports nothing is harmless."""
        reports = state is not None or terminated is True
        return not reports and len(one.steps) == H and one.status != "abandoned"

    @staticmethod
    def may_report(one):
        """Once after the last step, where nobody has said yet what it led to."""
        return len(one.steps) == H and one.final is None and one.status != "abandoned"

    @rule(one=episodes)
    def abandon(self, one):
        path = f"/v1/episodes/{one.id}/abandon"
        if one.gone:
            self.call("POST", path, 404)
        elif one.status == "awaiting_label" and one.said:
            self.call("POST", path, 409, code="already_labelled")
        elif one.status in ("running", "awaiting_label"):
            assert self.call("POST", path, 200)["status"] == "abandoned"
            one.status = "abandoned"
        else:
            self.call("POST", path, 409, code="episode_over")

    @rule(one=episodes, label=LABELS, labeller=LABELLERS)
    def give_label(self, one, label, labeller):
        own = one.said.get(one.voice(labeller), int(label))
        self.judge("POST", one, label, labeller, own == int(label) and one.has_room(labeller))

    @rule(one=episodes, label=LABELS, labeller=LABELLERS)
    def replace_label(self, one, label, labeller):
        self.judge("PUT", one, label, labeller, one.has_room(labeller))

    @precondition(lambda self: any(one.said for one in self.mine()))
    @rule(data=st.data(), withdrawn=st.booleans())
    def correct_a_label(self, data, withdrawn):
        one = data.draw(st.sampled_from([one for one in self.mine() if one.said]))
        labeller, label = data.draw(st.sampled_from(list(one.said.items())))
        if withdrawn:
            self.withdraw_label(one, labeller)
        else:
            self.give_label(one, 1 - label, labeller)
            self.replace_label(one, 1 - label, labeller)

    @precondition(lambda self: any(one.status == "awaiting_label" for one in self.mine()))
    @rule(data=st.data(), label=st.sampled_from([0, 1]), labeller=LABELLERS)
    def label_what_waits(self, data, label, labeller):
        waiting = [one for one in self.mine() if one.status == "awaiting_label"]
        self.give_label(data.draw(st.sampled_from(waiting)), label, labeller)

    def judge(self, method, one, label, labeller, allowed):
        path, body = f"/v1/episodes/{one.id}/label", {"label": label, "labeller": labeller}
        if one.gone:
            self.call(method, path, 404, body)
        elif one.status in ("running", "abandoned"):
            self.call(method, path, 409, body, f"episode_{one.status}")
        elif not allowed:
            self.call(method, path, 409, body, "already_labelled")
        else:
            view = self.call(method, path, 200, body)
            if one.said.get(one.voice(labeller)) != int(label):  # else it is no news
                one.judge(labeller, int(label))
            assert (view["episode"], view["label"]) == (one.id, one.label)
            assert (view["status"], view["verdicts"]) == (one.status, len(one.said))

    @rule(one=episodes, label=NO_LABELS, method=st.sampled_from(["POST", "PUT"]))
    def give_no_label(self, one, label, method):
        if not one.gone:
            self.call(method, f"/v1/episodes/{one.id}/label", 422, {"label": label})

    @rule(one=episodes, labeller=LABELLERS)
    def withdraw_label(self, one, labeller):
        path = f"/v1/episodes/{one.id}/label"
        params = {} if labeller is None else {"labeller": labeller}
        if one.gone:
            self.call("DELETE", path, 404, params=params)
        elif one.voice(labeller) not in one.said:
            self.call("DELETE", path, 409, params=params)
        else:
            assert self.call("DELETE", path, 200, params=params)["label"] is None
            one.judge(labeller, None)

    @rule(one=episodes)
    def read(self, one):
        if one.gone:
            self.call("GET", f"/v1/episodes/{one.id}", 404)
            return
        view = self.call("GET", f"/v1/episodes/{one.id}", 200)
        found = [(step["state"], step["action"]) for step in view["steps"]]
        assert found == one.steps
        assert [step["step"] for step in view["steps"]] == list(range(len(found)))
        told = (
            *("status", "label", "labels_wanted", "final", "terminated"),
            *("number", "agent", "mode"),
        )
        assert {name: view[name] for name in told} == {n: getattr(one, n) for n in told}
        assert view["length"] == len(one.steps)
        assert view["policy_version"] == one.version  # pinned, whatever was learned meanwhile
        assert [change["label"] for change in view["labels"]] == one.labels
        said = {one.voice(verdict["labeller"]): verdict["label"] for verdict in view["verdicts"]}
        assert said == one.said
        assert (view["finished_at"] is not None) == (one.status in OVER)
        assert (view["labelled_at"] is not None) == (one.label is not None)

    @rule()
    def read_agent(self):
        view = self.call("GET", f"/v1/agents/{self.agent}", 200)
        counts = dict.fromkeys(("running", "completed", *OVER), 0)
        for one in self.mine():
            counts[one.status] += 1
        assert view["episodes"] == counts
        labels = [one.label for one in self.mine() if one.label is not None]
        assert view["success_rate"] == (sum(labels) / len(labels) if labels else None)
        assert view["learning"] != "failed"

    @rule(
        status=st.none() | st.sampled_from(["running", *OVER]),
        order=st.sampled_from(["oldest", "newest"]),
        limit=st.integers(1, 3),
    )
    def list_episodes(self, status, order, limit):
        wanted = [one.id for one in self.mine() if status in (None, one.status)]
        found, cursor = [], None
        while True:
            asked = {"agent": self.agent, "order": order, "limit": limit}
            asked |= {"status": status} if status else {}
            asked |= {"cursor": cursor} if cursor else {}
            page = self.call("GET", "/v1/episodes", 200, params=asked)
            found += [item["id"] for item in page["items"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert found == (wanted if order == "oldest" else wanted[::-1])

    def teardown(self):
        if self.agent is not None:
            for one in self.mine():
                self.read(one)
            self.read_agent()
            self.call("DELETE", f"/v1/agents/{self.agent}", 204)


def test_episodes_do_what_the_contract_says(client):
    run_state_machine_as_test(
        lambda: Life(client),
        settings=settings(
            max_examples=50,
            stateful_step_count=40,
            derandomize=True,
            phases=[Phase.generate],  # to shrink over HTTP would take minutes
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
