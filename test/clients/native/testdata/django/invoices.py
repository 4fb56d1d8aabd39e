"""Invoices of four threads, some of which are rolled back, have no gap. Takes a database's URL."""

import sys
import threading
from urllib.parse import urlparse

import django
from django.conf import settings

at = urlparse(sys.argv[1])
settings.configure(DATABASES={"default": {
    "ENGINE": "django.db.backends.postgresql", "NAME": at.path[1:], "USER": at.username, "HOST": at.hostname,
    "PORT": at.port}})
django.setup()

from django.db import connection, models, transaction  # noqa: E402


class Invoice(models.Model):
    number = models.BigIntegerField(unique=True)
    customer = models.TextField()
    cents = models.BigIntegerField()

    class Meta:
        app_label = "shop"


class Changed(Exception):
    pass


def invoice(customer, cents):
    # THE PAGE
    if cents % 5 == 0:
        raise Changed


def client(failures):
    try:
        for cents in range(20):
            try:
                with transaction.atomic():
                    invoice("Ada", cents)
            except Changed:
                pass
    except Exception as e:
        failures.append(e)
    finally:
        connection.close()


with connection.schema_editor() as editor:
    editor.create_model(Invoice)
failures = []
threads = [threading.Thread(target=client, args=(failures,)) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert not failures, failures
numbers = sorted(Invoice.objects.values_list("number", flat=True))
assert numbers == list(range(1, 65)), numbers
