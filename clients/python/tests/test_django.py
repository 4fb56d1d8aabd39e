"""Models over a real server: SNOWFENCE_SERVER=http://127.0.0.1:8080 python3 -m unittest tests.test_django"""

import sys
import types
import unittest

import django
from django.conf import settings

app = sys.modules["shop"] = types.ModuleType("shop")
app.__path__ = ["."]
settings.configure(DEFAULT_AUTO_FIELD="snowfence.django.SnowfenceField",
                   DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
                   INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "rest_framework", "shop"])
django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402
from django.core import checks, management  # noqa: E402
from django.db import connection, models  # noqa: E402
from rest_framework import serializers  # noqa: E402

from snowfence.django import SnowfenceField  # noqa: E402


class Tag(models.Model):
    name = models.TextField()

    class Meta:
        app_label = "shop"


class Order(models.Model):
    tags = models.ManyToManyField(Tag)
    public = SnowfenceField(unique=True)

    class Meta:
        app_label = "shop"


class OrderSerializer(serializers.ModelSerializer):
    serializer_field_mapping = {
        **serializers.ModelSerializer.serializer_field_mapping, SnowfenceField: serializers.CharField}

    def build_relational_field(self, name, relation):
        kind, options = super().build_relational_field(name, relation)
        return kind, {**options, "pk_field": serializers.CharField()}

    class Meta:
        model = Order
        fields = "__all__"


class Fields(unittest.TestCase):
    def test_default_auto_field(self):
        with connection.schema_editor() as editor:
            editor.create_model(Tag)
            editor.create_model(Order)
        self.assertEqual(checks.run_checks(), [])
        one = Tag.objects.create(name="one")
        more = Tag.objects.bulk_create(Tag(name=str(n)) for n in range(10))
        order = Order.objects.create()
        order.tags.set(more)
        between = list(Order.tags.through.objects.values_list("id", flat=True))
        made = [one.id, *(t.id for t in more), order.id, order.public, *between]
        self.assertEqual(len(set(made)), 23)
        self.assertGreater(min(made), 1 << 40)
        Order.objects.get(pk=order.pk).save()
        self.assertEqual((Order.objects.count(), Order.objects.create(id=5).id), (1, 5))
        data = OrderSerializer(order).data
        self.assertEqual((data["id"], data["public"]), (str(order.id), str(order.public)))
        self.assertEqual(data["tags"], [str(t.id) for t in more])

    def test_apps_with_their_own_field(self):  # SQLite lost the rows between, without an error
        management.call_command("migrate", verbosity=0)
        user, groups = User.objects.create(), [Group.objects.create(name=n) for n in "ab"]
        user.groups.set(groups)
        self.assertEqual(list(user.groups.all()), groups)
