"""Learning from old logs alone: episodes that somebody else played, labelled or not."""

import random

import plaudit

client = plaudit.Client()
agent = client.agent("old logs", states=4, actions=2, horizon=5)

rng = random.Random(0)
logs = []
for number in range(40):
    actions = [rng.randrange(2) for _ in range(5)]
    states = [0]
    for action in actions:
        states.append(min(states[-1] + action, 3))
    # One more state than actions: the last is where the episode ended.
    label = states[-1] == 3
    logs.append(plaudit.Trajectory(states, actions, label, external_id=f"log-{number}"))

# The key makes the import happen once, however often this program runs within a day.
answer = agent.import_trajectories(logs, idempotency_key="old-logs-1")
view = agent.wait_until_learned()
print(answer.imported, "episodes, success", view.success_rate)
print("the policy without exploration is", agent.policy("exploit").policy["kind"])
