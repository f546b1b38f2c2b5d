"""Custom features: say what a label may depend on, where you know it.

Here a label depends on which states were visited, not on when, and not on the actions.
"""

import plaudit

client = plaudit.Client()
agent = client.agent(
    "features",
    states=["start", "ice", "hole", "goal"],
    actions=["left", "right"],
    horizon=4,
    features={"kind": "one_hot", "over": ["state"]},
)
for states, label in [(["start", "ice", "goal"], 1), (["start", "ice", "hole"], 0)]:
    with agent.episode() as episode:
        for state in states[:-1]:
            episode.act(state)
        episode.finish(states[-1])
        episode.label(label)
agent.wait_until_learned()
model = agent.model()
print(model.features)
print([round(weight, 2) for weight in model.weights or []])
