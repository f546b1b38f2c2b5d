"""Episodes now, labels later: a queue that people work through, the most informative first."""

import random

import plaudit

ROOMS = ["kitchen", "hall", "bedroom"]

client = plaudit.Client()
agent = client.agent("late", states=ROOMS, actions=["left", "right"], horizon=4)

for _ in range(5):
    with agent.episode() as episode:
        while not episode.over:
            episode.act(random.choice(ROOMS))

# Hours later, in another program: what would teach the most comes first.
for waiting in agent.episodes(order="informative"):
    steps = client.read_episode(waiting.id).steps
    verdict = steps[-1].state == "kitchen"  # in place of a person who watches
    client.give_label(waiting.id, verdict, labeller="Ada", comment="looked at the last room")
    print(waiting.id, [step.state for step in steps], verdict)
