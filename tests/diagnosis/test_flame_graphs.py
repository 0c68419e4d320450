"""What a flame graph says in one sentence, against a recount of what real Flinks answered."""

import pytest

from ingest.flink_rest.payloads.flame_graph import flame_graph
from spark_jobs.diagnosis.flame_graphs import Frame, busiest
from tests.flame_graphs import VERSIONS, graphs, own_methods, stacks


def read(body):
    return busiest(Frame(one.depth, one.name, one.samples) for one in flame_graph(body).frames)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_busiest_method_of_the_jobs_own_code_is_that_of_the_raw_answer(version):
    for one in graphs(version)[:2]:  # the source, and its first subtask
        [(method, samples)] = own_methods(one["body"]).most_common(1)
        found = read(one["body"])
        assert (found.method, found.in_method, found.samples) == (
            method,
            samples,
            one["body"]["data"]["value"],
        )
        share = round(100 * samples / one["body"]["data"]["value"])
        assert found.sentence == (
            f"{share} % of {found.samples} samples are in {method}, calling java.lang.Thread.sleep."
        )


@pytest.mark.parametrize("version", VERSIONS)
def test_a_vertex_that_waits_for_work_is_said_to(version):
    body = graphs(version)[2]["body"]
    waits = sum(
        samples
        for stack, samples in stacks(body).items()
        if any(name.endswith("TaskMailboxImpl.take") for name in stack)
    )
    found = read(body)
    assert (found.method, found.waiting) == (None, waits)
    assert found.sentence.endswith(
        "show a thread that waits for work; none is in the job's own code."
    )


def test_lines_of_one_method_count_together_and_inner_methods_for_themselves():
    frames = [
        Frame(0, "root", 10),
        Frame(1, "shop.Enrich.map:3", 4),
        Frame(1, "shop.Enrich.map:9", 4),
        Frame(2, "shop.Client.call:1", 1),
        Frame(2, "java.net.Socket.read:-2", 3),
        Frame(1, "java.lang.Thread.run:840", 2),
    ]
    found = busiest(frames)
    assert (found.method, found.in_method, found.calls) == ("shop.Enrich.map", 7, "shop.Enrich.map")
    assert found.sentence == "70 % of 10 samples are in shop.Enrich.map."


def test_no_sample_and_no_own_code_are_said():
    assert (
        busiest([Frame(0, "root", 0)]).sentence
        == "No sample was taken in this state of the threads."
    )
    assert (
        busiest([Frame(0, "root", 2), Frame(1, "java.lang.Thread.run:840", 2)]).sentence
        == "None of 2 samples is in the job's own code."
    )
