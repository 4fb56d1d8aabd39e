"""A field for Django whose default is a new ID.

In the settings: SNOWFENCE = {"server": "http://127.0.0.1:8080", "namespace": "default"}, or any parameters of
snowfence.open. Without it, SNOWFENCE_SERVER and the namespace default. The first new row of a process leases a node.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db import models

from .generator import Generator


@lru_cache(maxsize=None)
def ids() -> Generator:
    """Returns the generator of this process. A forked worker goes on with it, and leases a node of its own."""
    return Generator(**getattr(settings, "SNOWFENCE", {}))


def new_id() -> int:
    """Makes an ID. Migrations name it as the default of a field."""
    return next(ids())


class SnowfenceField(models.BigIntegerField):
    """A column of 64 bits. A row has its ID before it is written, so bulk_create has them, too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("default", new_id)
        kwargs.setdefault("editable", False)
        super().__init__(*args, **kwargs)
