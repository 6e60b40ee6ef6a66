"""Samples of Claude Code, read for tests."""

BUFFERS = {
    "plain.jsonl": [["u1"], ["u1", "m1", "r1"]],
    "placeholders.jsonl": [["u1"], ["u1", "m1", "u2"]],
    # results stand behind the whole answer, wherever they were written
    "interleaved.jsonl": [["u1"], ["u1", "m1", "r1", "r2", "x1"]],
    "broken_parent.jsonl": [["u1"], ["u1", "m1", "u2"]],
    "rewind.jsonl": [["u1"], ["u1", "m1", "u2"], ["u1", "m1", "u3"], ["u4"]],
    # the withdrawn prompt is not sent; an answer that the client wrote itself is, but is no call
    "withdrawn.jsonl": [
        ["u1"],
        ["u1", "m1", "u3"],
        ["u1", "m1", "u3", "m2", "u4", "u5", "m3", "u6"],
    ],
    "attachments.jsonl": [["u1", "x1", "x2"], ["u1", "x1", "x2", "m1", "r1", "x5", "x6", "x8"]],
    "boundary.jsonl": [["u1"], ["u1", "m1", "r1"], ["c1"]],
    # summary, what was kept, then what came later; the kept tail as parent does not bring the old buffer back
    "boundary_keeps.jsonl": [
        ["u1"],
        ["u1", "m1", "r1", "x1"],
        ["c1", "m1", "r1", "x1", "m2", "u2"],
    ],
    "boundary_segment.jsonl": [["u1"], ["u1", "m1", "u2"], ["c1", "u2", "m2", "u3"]],
    "boundary_repeats.jsonl": [["u1"], ["c1", "m1", "r1"]],
    "boundary_early.jsonl": [["u1"], ["c1", "u2", "u3", "u4", "u5"]],
    "boundary_alone.jsonl": [["u1"], ["c1"], ["x1", "c2"]],
    "micro.jsonl": [["u1"], ["u1", "m1", "r1"], ["u1", "m1", "r1", "m2", "r2"]],
    # errors are no calls; the refused answer is one, but the fallback was not sent it
    "no_calls.jsonl": [["u1", "u2"], ["u1", "u2"]],
    "copies.jsonl": [["u1"], ["u1", "m1", "r1"], ["u1", "m1", "r1", "m2", "u2"]],
    "suffix.jsonl": [["u1"], ["u1", "m1", "r1"]],
    "odd.jsonl": [["u1"], ["u1", "a1", "line-15"]],
    "inline_agents.jsonl": [["u1"], ["u1", "m1", "r1", "r2"]],
    "told_agent.jsonl": [["u1"], ["u1", "m1", "r1"]],
    "with_agents.jsonl": [["u1"], ["u1", "m1", "r1"]],
    "agent-f00.jsonl": [["c1"], ["c1", "m3", "c3"]],
    "wire.jsonl": [["u1"], ["u1", "m1", "u2"]],
    "replaced.jsonl": [["u1"], ["u1", "m1", "r1"]],
    "iflow.jsonl": [["u1"], ["u1", "response-1"], ["u1", "response-1", "r1"]],
}
