"""The official clients of Node.js: the tests of node/, run once and reported one by one."""

import pytest

from support import node_tests
from support.upstreams import PATHS

FILES = sorted(each.name for each in node_tests.FOLDER.glob("*.test.mjs"))


@pytest.fixture(scope="module")
def node_environment():
    return node_tests.environment()


@pytest.mark.parametrize("file", FILES)
def test_the_node_client(engine, module_model, node_environment, tmp_path, file):
    node_tests.check(file, engine, module_model, node_environment, tmp_path)


def test_each_protocol_behind_the_node_clients(upstream, node_environment, tmp_path):
    node_tests.check("upstreams.mjs", upstream.engine, upstream.model, node_environment, tmp_path,
                     CHELA_UPSTREAM=upstream.protocol, CHELA_UPSTREAM_PATH=PATHS[upstream.protocol])
