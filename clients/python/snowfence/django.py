"""A field for Django whose default is a new ID.

In the settings: SNOWFENCE = {"server": "http://127.0.0.1:8080", "namespace": "default"}, or any parameters of
snowfence.open. Without it, SNOWFENCE_SERVER and the namespace default. The first new row of a process leases a node.
DEFAULT_AUTO_FIELD = "snowfence.django.SnowfenceField" gives IDs to all models that name no key, and to their through
tables.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, List

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


class SnowfenceField(models.BigAutoField):
    """A column of 64 bits. A row has its ID before it is written, so bulk_create has them, too.

    It is a BigAutoField only because Django asks that of a DEFAULT_AUTO_FIELD: the database makes nothing, but in
    through tables. Migrations give these this field also in an app whose rows have Django's own (django.contrib.auth).
    """

    db_returning = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("default", new_id)
        kwargs.setdefault("editable", False)
        super().__init__(*args, **kwargs)

    def get_internal_type(self) -> str:
        model = getattr(self, "model", None)
        return "BigAutoField" if model is not None and model._meta.auto_created else "BigIntegerField"

    def contribute_to_class(self, cls: Any, name: str, **kwargs: Any) -> None:
        models.Field.contribute_to_class(self, cls, name, **kwargs)  # a model may have several

    def _check_primary_key(self) -> List[Any]:
        return []
