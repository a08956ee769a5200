"""Conformance suites for plugin authors: one function per hook, for a plugin's own tests.

    from helix.testing import check_conforms

    def test_my_check_conforms():
        check_conforms(CHECK, {"words": 3}, passes=[SHORT], fails=[LONG], na=[SILENT])

Each takes a registered item and examples, and raises AssertionError with a sentence that says what
the item does against its contract. They need no test runner. The items that Helix brings are run
through the same functions.
"""

from helix.testing.caches import cache_conforms
from helix.testing.checks import check_conforms
from helix.testing.dimensions import dimension_conforms
from helix.testing.executors import executor_conforms
from helix.testing.formats import format_conforms
from helix.testing.judges import judge_conforms
from helix.testing.labels import label_source_conforms
from helix.testing.plugins import plugin_conforms
from helix.testing.renderers import renderer_conforms
from helix.testing.samplers import sampler_conforms
from helix.testing.subjects import subject_conforms

__all__ = [
    "cache_conforms",
    "check_conforms",
    "dimension_conforms",
    "executor_conforms",
    "format_conforms",
    "judge_conforms",
    "label_source_conforms",
    "plugin_conforms",
    "renderer_conforms",
    "sampler_conforms",
    "subject_conforms",
]
