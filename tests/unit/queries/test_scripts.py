"""SQL and lazily loaded entries, for scripts."""

from __future__ import annotations

from leslied.app import App
from leslied.queries.scripts import RecordFilter, SqlTable, list_views
from tests.support.claude import SESSION
from tests.support.queries import SECRET


def test_rows_of_sql_contain_no_secret(app: App):
    with app.open_sql() as scripts:
        columns, rows = scripts.execute(
            "SELECT title, content FROM sessions JOIN transcript_entries "
            "USING (session_id)",
            (),
            10,
        )
        all_rows = list(rows)

    assert columns == ("title", "content")
    assert all_rows
    assert SECRET not in repr(all_rows)


def test_secrets_are_in_the_rows_on_request(app: App):
    with app.open_sql(reveal=True) as scripts:
        _, rows = scripts.execute("SELECT title FROM sessions", (), 10)

        assert SECRET in repr(list(rows))


def test_entries_are_redacted_in_both_orders(app: App):
    with app.open_sql() as scripts:
        entries = list(scripts.iter_entries(RecordFilter()))
        latest = list(scripts.iter_latest_entries(RecordFilter()))

    assert len(entries) == len(latest)
    assert SECRET not in repr([entries, latest])


def test_units_are_redacted(app: App):
    with app.open_sql() as scripts:
        units = list(scripts.iter_units(scripts.get_session(SESSION)))

    assert [unit.number for unit in units if unit.number] == [1, 2]
    assert SECRET not in repr([unit.entries for unit in units])


def test_rows_have_values_that_json_can_hold(app: App):
    with app.open_sql() as scripts:
        result = scripts.execute("SELECT 1 AS a, x'ff' AS b, 9e999 AS c", (), 5)
        table = SqlTable(result.columns, list(result.iter_json_rows()))

    assert table.to_dict() == {
        "columns": ["a", "b", "c"],
        "rows": [{"a": 1, "b": "ff", "c": "inf"}],
    }


def test_the_json_form_of_views_names_their_columns():
    views = list_views().to_dict()["views"]

    assert views[0]["name"] == "sessions"
    assert set(views[0]["columns"][0]) == {"name", "about"}


def test_every_view_has_a_description_for_each_column():
    columns = [column for view in list_views().views for column in view.columns]

    assert columns
    assert all(column.name and column.about for column in columns)
