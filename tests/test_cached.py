"""Properties that are computed once: threads that ask different objects do not wait for each other."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from llrkit.base.process import cached_property


class Prepared:
    def __init__(self, both_inside):
        self.both_inside = both_inside
        self.times = 0

    @cached_property
    def value(self):
        """What takes long."""
        self.times += 1
        self.both_inside.wait(timeout=120)  # breaks if the other thread is kept out
        return 7


def test_two_objects_are_prepared_at_the_same_time():
    both_inside = Barrier(2)
    objects = [Prepared(both_inside), Prepared(both_inside)]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda one: one.value, objects)) == [7, 7]


def test_a_value_is_computed_once_and_described_by_its_function():
    one = Prepared(Barrier(1))
    assert (one.value, one.value, one.times) == (7, 7, 1)
    assert Prepared.value.__doc__ == "What takes long."
