"""Every read model of a running server."""

from __future__ import annotations

from app.service.labelling.ranking import Ranking
from app.service.runtime.cache import Cache
from app.service.runtime.event_bus import EventBus
from app.service.views.agents import AgentViews
from app.service.views.curves import CurveViews
from app.service.views.desk import DeskViews
from app.service.views.documents import Documents
from app.service.views.episode_details import EpisodeDetailViews
from app.service.views.episodes import EpisodeViews
from app.service.views.events import EventFeed
from app.service.views.explanation import Explanations
from app.service.views.labellers import LabellerViews
from app.service.views.overview import AgentOverviews
from app.service.views.policies import PolicyViews
from app.storage.database import Database


class Views:
    """The read models, built once on the server's database and cache."""

    def __init__(
        self,
        database: Database,
        cache: Cache,
        ranking: Ranking,
        events: EventBus,
    ) -> None:
        self.agents = AgentViews(database, cache)
        self.overviews = AgentOverviews(database, cache)
        self.episodes = EpisodeViews(database, cache, ranking)
        self.episode_details = EpisodeDetailViews(database, cache)
        self.desk = DeskViews(database)
        self.labellers = LabellerViews(database)
        self.curves = CurveViews(database, cache)
        self.policies = PolicyViews(database, cache)
        self.documents = Documents(cache)
        self.explanations = Explanations(database, cache)
        self.events = EventFeed(database, cache, events)
