import django
from django.conf import settings

settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    SNOWFENCE={"server": "http://127.0.0.1:8080"},  # any parameters of snowfence.open
)
django.setup()

from django.db import connection, models
from snowfence.django import SnowfenceField


class Order(models.Model):
    id = SnowfenceField(primary_key=True)
    note = models.TextField()

    class Meta:
        app_label = "shop"


with connection.schema_editor() as editor:  # a migration, in a project
    editor.create_model(Order)
one = Order.objects.create(note="one")
more = Order.objects.bulk_create(Order(note=f"{n}") for n in range(1000))
print(one.id, more[-1].id, Order.objects.filter(id__gt=one.id).count())
