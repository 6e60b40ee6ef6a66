"""The commands of the stepper, and those offered for a typed text: run a tier, or choose another policy."""

from collections.abc import Sequence
from functools import partial

from inspector.core.policies.catalogue import TITLES
from inspector.gui.commands import Command
from inspector.workbench.policy_input import policy_of, tier_of
from inspector.workbench.stepping import DROP_STEPS, HAND
from inspector.workbench.workbench import Workbench

GROUP = "Step"
NUMBERS = range(5)


def stepper_commands(bench: Workbench) -> tuple[Command, ...]:
    """Return the commands that do not depend on the policy."""
    stepping = bench.stepping

    def toggle_remote() -> None:
        stepping.choose(remote=not bench.state.choices.remote)

    numbered = (
        Command(
            f"Run tier {number}", partial(step, bench, number), (str(number),), GROUP, typed=True
        )
        for number in NUMBERS
    )
    return (
        Command("Run due tiers", partial(step, bench), ("D",), GROUP, typed=True),
        Command(
            "Run to the end of the turn", partial(step, bench, "turn"), ("E",), GROUP, typed=True
        ),
        *numbered,
        Command("Undo the step", stepping.undo, ("Ctrl+Z",), GROUP),
        Command("Redo the step", stepping.redo, ("Ctrl+Shift+Z", "Ctrl+Y"), GROUP),
        Command(DROP_STEPS, stepping.forget, (), GROUP),
        Command("Cancel the waiting tier", stepping.give_up, ("Ctrl+.",), GROUP),
        Command("Reset the circuit breaker", stepping.reset_breaker, (), GROUP),
        Command("Turn remote compaction by the provider on or off", toggle_remote, (), GROUP),
        *(
            Command(
                f"Answer model calls {words}", partial(stepping.choose, answer_by=who), (), GROUP
            )
            for words, who in (
                ("offline", "offline"),
                ("by the simulated provider", "simulated"),
                ("manually", HAND),
            )
        ),
    )


def step(bench: Workbench, tier: str | int = "") -> None:
    """Run a tier, given by its name or by its number in the policy. A number that the policy lacks does nothing.

    Nothing is run while a tier waits for an answer, so that a key pressed by mistake does not drop that tier.
    """
    if isinstance(tier, int) and not (tier := tier_of(bench.state, tier)):
        return
    if bench.state.asking is None:
        bench.stepping.step(tier)


def tier_offers(bench: Workbench, typed: str) -> Sequence[Command]:
    """Return the commands whose names contain the typed text: run a tier of the policy, or choose another policy."""
    if bench.state.session is None:
        return ()
    query = typed.lower()
    policy = policy_of(bench.state)
    offers = list[Command]()
    for tier in policy.tiers:
        if query in f"{tier.name} {tier.title}".lower():
            offers.append(
                Command(f"Run {tier.name}: {tier.title}", partial(step, bench, tier.name))
            )
    for name, title in TITLES.items():
        if name != policy.name and query in f"policy {name} {title}".lower():
            offers.append(Command(f"Policy: {title}", partial(bench.stepping.choose, policy=name)))
    return offers
