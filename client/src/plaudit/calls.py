"""The calls that `Client` and `AsyncClient` share: one method for each operation of the server."""

from __future__ import annotations

from plaudit._core.calls import call, listing
from plaudit.endpoints import (
    agents,
    demos,
    episodes,
    fleets,
    insights,
    keys,
    labels,
    operations,
    recordings,
    webhooks,
)


class Calls:
    """Every operation of the server, by its name in the OpenAPI document."""

    create_agent = call(agents.create_agent)
    list_agents = listing(agents.list_agents)
    read_agent = call(agents.read_agent)
    change_agent = call(agents.change_agent)
    list_guidelines = call(agents.list_guidelines)
    delete_agent = call(agents.delete_agent)

    start_episode = call(episodes.start_episode)
    take_step = call(episodes.take_step)
    finish_episode = call(episodes.finish_episode)
    abandon_episode = call(episodes.abandon_episode)
    read_episode = call(episodes.read_episode)
    list_episodes = listing(episodes.list_episodes)

    give_label = call(labels.give_label)
    replace_label = call(labels.replace_label)
    withdraw_label = call(labels.withdraw_label)

    put_recording = call(recordings.put_recording)
    read_recording = call(recordings.read_recording)
    remove_recording = call(recordings.remove_recording)

    step_many = call(fleets.step_many)
    start_many = call(fleets.start_many)
    finish_many = call(fleets.finish_many)
    label_many = call(fleets.label_many)
    import_trajectories = call(fleets.import_trajectories)
    export_episodes = listing(fleets.export_episodes)
    export_labels = listing(fleets.export_labels)

    read_model = call(insights.read_model)
    read_policy = call(insights.read_policy)
    read_curve = call(insights.read_curve)
    list_policies = listing(insights.list_policies)
    pin_policy = call(insights.pin_policy)
    unpin_policy = call(insights.unpin_policy)
    stream_events = listing(insights.stream_events)

    create_key = call(keys.create_key)
    list_keys = listing(keys.list_keys)
    revoke_key = call(keys.revoke_key)

    create_webhook = call(webhooks.create_webhook)
    list_webhooks = listing(webhooks.list_webhooks)
    read_webhook = call(webhooks.read_webhook)
    rotate_webhook_secret = call(webhooks.rotate_webhook_secret)
    delete_webhook = call(webhooks.delete_webhook)
    list_deliveries = listing(webhooks.list_deliveries)

    start_demo = call(demos.start_demo)
    list_demos = call(demos.list_demos)

    read_health = call(operations.read_health)
    read_readiness = call(operations.read_readiness)
    read_metrics = call(operations.read_metrics)
