"""A fleet: robots that act side by side. One call steps all of them."""

import plaudit

ROBOTS, HORIZON = 4, 5

client = plaudit.Client()
agent = client.agent("fleet", states=6, actions=2, horizon=HORIZON)

# `wait=False` starts at once, on the policy in force: robots do not wait for each other's labels.
episodes = [agent.episode(wait=False) for _ in range(ROBOTS)]
places = [0] * ROBOTS
for episode in episodes:
    episode.start()
for step in range(HORIZON):
    sent = [
        plaudit.Step(episode.id, place, step)
        for episode, place in zip(episodes, places, strict=True)
    ]
    actions = [result.answer().action for result in client.step_many(sent)]
    places = [place + action for place, action in zip(places, actions, strict=True)]
for episode, place in zip(episodes, places, strict=True):
    client.give_label(episode.id, place >= 3)
    print(episode.id, "reached", place)
