"""Imported by the template alone: everything that a server and a learning process import."""

import app.cli.keys
import app.server
import app.service.training.process_pool  # noqa: F401
from app.planning.warm_up import warm_up

warm_up()
