"""Every read model of a running server."""

from __future__ import annotations

from app.service.labelling.ranking import Ranking
from app.service.runtime.cache import Cache
from app.service.runtime.events import Events
from app.service.training.process_pool import ProcessPool
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
from app.service.views.readiness import Readiness
from app.storage.database import Database


class Views:
    """The read models, built once on the server's database and cache."""

    def __init__(
        self,
        database: Database,
        cache: Cache,
        ranking: Ranking,
        pool: ProcessPool,
        events: Events,
    ) -> None:
        self.agents = AgentViews(database, cache)
        self.overviews = AgentOverviews(database, cache)
        self.episodes = EpisodeViews(database, cache, ranking)
        self.episode_details = EpisodeDetailViews(database, cache)
        self.desk = DeskViews(database)
        self.labellers = LabellerViews(database)
        self.curves = CurveViews(database, cache)
        self.documents = Documents(cache)
        self.explanations = Explanations(database, cache)
        self.events = EventFeed(database, cache, events)
        self.readiness = Readiness(database, pool)
