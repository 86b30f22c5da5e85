"""The folder that mirrors a root."""

import errno
import os

import pytest

from plugins.remote_roots.mirror import open_mirror, owner_of
from tests.components.objects.memory import ADDRESS


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP])
def test_a_file_system_without_links_has_mirrors(machine, monkeypatch, number):
    def link(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", link)
    root = machine("a")
    assert owner_of(root) == owner_of(open_mirror(ADDRESS)), "the first name stays"
    assert [path.name for path in root.parent.iterdir()] == [root.name]
