"""Writes the man page and the completions from the parser: python packaging/make_shell_files.py"""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from inspector import __version__  # noqa: E402
from inspector.cli.main import COMMANDS, build_parser  # noqa: E402

TARGET = ROOT / "build" / "share"
NAME = "context-inspector"
_FILE_VALUES = re.compile(r"FILE|DIR|FOLDER|JOURNAL")
_FORMATTER = argparse.HelpFormatter(NAME)


@dataclass(frozen=True, slots=True)
class Option:
    """An option, or a positional argument (then `names` is empty)."""

    names: Sequence[str]
    value: str
    """What follows it, as shown to people; empty for nothing."""
    purpose: str
    choices: Sequence[str]
    is_repeatable: bool
    is_required: bool

    @property
    def takes_file(self) -> bool:
        return bool(_FILE_VALUES.search(self.value))


@dataclass(frozen=True, slots=True)
class Command:
    """A command with everything that its parser knows."""

    name: str
    purpose: str
    description: str
    options: Sequence[Option]
    positionals: Sequence[Option]


def main() -> None:
    """Write the four files below `build/share`."""
    for place, text in make_files().items():
        path = TARGET / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))


def make_files() -> Mapping[str, str]:
    """Return the text of each file by its place below `share`."""
    commands = read_commands()
    return {
        f"man/man1/{NAME}.1": join_lines(write_man_page(commands)),
        f"bash-completion/completions/{NAME}": join_lines(write_bash(commands)),
        f"zsh/site-functions/_{NAME}": join_lines(write_zsh(commands)),
        f"fish/vendor_completions.d/{NAME}.fish": join_lines(write_fish(commands)),
    }


def join_lines(lines: Iterable[str]) -> str:
    """Return the text of a file of these lines."""
    return "\n".join([*lines, ""])


def read_commands() -> list[Command]:
    """Return all commands, as the parser describes them."""
    subparsers = next(
        action
        for action in build_parser(COMMANDS)._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return [
        _read_command(name, COMMANDS[name], parser) for name, parser in subparsers.choices.items()
    ]


def _read_command(name: str, purpose: str, parser: argparse.ArgumentParser) -> Command:
    visible = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    options = [_read_option(action) for action in visible]
    return Command(
        name,
        purpose,
        parser.description or purpose,
        [option for option in options if option.names],
        [option for option in options if not option.names],
    )


def _read_option(action: argparse.Action) -> Option:
    choices = list(map(str, action.choices or ()))
    metavar = action.metavar if isinstance(action.metavar, str) else None
    value = metavar or ("|".join(choices) if choices else action.dest.upper())
    return Option(
        action.option_strings,
        "" if action.nargs == 0 else value,
        _FORMATTER._expand_help(action) if action.help else "",
        choices,
        isinstance(action, argparse._AppendAction) or action.nargs in ("*", "+"),
        action.required,
    )


# -- the man page ------------------------------------------------------------------------------------------------------


def write_man_page(commands: Sequence[Command]) -> Iterator[str]:
    """Yield the lines of the man page."""
    yield f'.TH CONTEXT-INSPECTOR 1 "" "Context Inspector {__version__}" "User Commands"'
    yield ".SH NAME"
    yield r"context\-inspector \- debugger for the context window of an LLM agent"
    yield ".SH SYNOPSIS"
    yield r".B context\-inspector"
    yield r"[\fIFILE\fR]"
    yield ".br"
    yield r".B context\-inspector"
    yield r"\fICOMMAND\fR ..."
    yield ".SH DESCRIPTION"
    yield r"Without a command it opens the window on \fIFILE\fR, a transcript of an agent or an API body."
    yield "Commands need no display."
    yield ".SH OPTIONS"
    yield from _write_man_option(
        Option(["-h", "--help"], "", "show a short help", [], False, False)
    )
    yield from _write_man_option(Option(["--version"], "", "show the version", [], False, False))
    yield ".SH COMMANDS"
    for command in commands:
        yield from _write_man_command(command)
    yield ".SH EXIT STATUS"
    yield "0: done. 1: an expected failure, with one sentence on standard error. 2: wrong usage."
    yield ".SH FILES"
    yield r"Settings are in \fI$XDG_CONFIG_HOME/context\-inspector\fR (default: \fI~/.config\fR),"
    yield r"the program's own notes in \fI$XDG_STATE_HOME/context\-inspector\fR (default: \fI~/.local/state\fR)."


def _write_man_command(command: Command) -> Iterator[str]:
    words = [_write_positional(option) for option in command.positionals]
    yield f".SS {_escape_roff(' '.join([command.name, *words]))}"
    yield _escape_roff(_end_sentence(command.description))
    for option in (*command.positionals, *command.options):
        yield from _write_man_option(option)


def _write_positional(option: Option) -> str:
    word = option.value + " ..." * option.is_repeatable
    return word if option.is_required else f"[{word}]"


def _write_man_option(option: Option) -> Iterator[str]:
    value = rf" \fI{_escape_roff(option.value)}\fR" if option.value else ""
    names = ", ".join(rf"\fB{_escape_roff(name)}\fR" for name in option.names)
    yield ".TP"
    yield f"{names}{value}" if names else value.strip()
    yield _escape_roff(_end_sentence(option.purpose or "-"))


def _end_sentence(text: str) -> str:
    sentence = text[:1].upper() + text[1:]
    return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."


def _escape_roff(text: str) -> str:
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("~", r"\(ti")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped


# -- bash --------------------------------------------------------------------------------------------------------------


def write_bash(commands: Sequence[Command]) -> Iterator[str]:
    """Yield the lines of the completion for bash."""
    names = " ".join(command.name for command in commands)
    yield "# bash completion for context-inspector, written by packaging/make_shell_files.py"
    yield "_context_inspector() {"
    yield "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}"
    yield "    local command=${COMP_WORDS[1]} options="
    yield "    COMPREPLY=()"
    yield "    if ((COMP_CWORD == 1)); then"
    yield f'        COMPREPLY=($(compgen -W "{names} --help --version" -- "$word"))'
    yield "        [[ ${#COMPREPLY[@]} -gt 0 ]] || compopt -o default 2>/dev/null"
    yield "        return"
    yield "    fi"
    yield "    case $command in"
    for command in commands:
        yield f"    {command.name})"
        yield from _write_bash_values(command)
        yield f'        options="{" ".join(_list_names(command))}"'
        yield "        ;;"
    yield "    *) return ;;"
    yield "    esac"
    yield "    if [[ $word == -* ]]; then"
    yield '        COMPREPLY=($(compgen -W "$options" -- "$word"))'
    yield "    else"
    yield "        compopt -o default 2>/dev/null"
    yield "    fi"
    yield "}"
    yield f"complete -F _context_inspector {NAME}"


def _write_bash_values(command: Command) -> Iterator[str]:
    with_value = [option for option in command.options if option.value]
    if not with_value:
        return
    yield "        case $before in"
    for option in with_value:
        action = "return"
        if option.choices:
            choices = " ".join(option.choices)
            action = f'COMPREPLY=($(compgen -W "{choices}" -- "$word")); return'
        elif option.takes_file:
            action = "compopt -o default 2>/dev/null; return"
        yield f"        {' | '.join(option.names)}) {action} ;;"
    yield "        esac"


def _list_names(command: Command) -> list[str]:
    return [name for option in command.options for name in option.names]


# -- zsh ---------------------------------------------------------------------------------------------------------------


def write_zsh(commands: Sequence[Command]) -> Iterator[str]:
    """Yield the lines of the completion for zsh."""
    yield f"#compdef {NAME}"
    yield "# written by packaging/make_shell_files.py"
    yield "local context state state_descr line curcontext=$curcontext"
    yield "typeset -A opt_args"
    yield "local -a commands=("
    for command in commands:
        yield f"  {_quote(_escape_colons(command.name) + ':' + command.purpose)}"
    yield ")"
    yield "_arguments -C '(- *)'{-h,--help}'[show a short help]' '(- *)--version[show the version]' \\"
    yield "  '1: :->first' '*:: :->rest' && return"
    yield "case $state in"
    yield "first) _describe -t commands command commands; _files ;;"
    yield "rest)"
    yield "  case $words[1] in"
    for command in commands:
        specs = [spec for option in command.options for spec in _write_zsh_option(option)]
        specs += [_write_zsh_positional(option) for option in command.positionals]
        yield f"  {command.name}) _arguments \\"
        yield " \\\n".join(f"    {_quote(spec)}" for spec in specs)
        yield "    ;;"
    yield "  esac ;;"
    yield "esac"


def _write_zsh_option(option: Option) -> Iterator[str]:
    purpose = re.sub(r"([\[\]:\\])", r"\\\1", option.purpose)
    repeat = "*" * option.is_repeatable
    for name in option.names:
        yield f"{repeat}{name}[{purpose}]{_write_zsh_value(option)}"


def _write_zsh_value(option: Option) -> str:
    if not option.value:
        return ""
    message = _escape_colons(option.value)
    if option.choices:
        return f":{message}:({' '.join(option.choices)})"
    return f":{message}:_files" if option.takes_file else f":{message}: "


def _write_zsh_positional(option: Option) -> str:
    return f"{'*' if option.is_repeatable else ''}:{_escape_colons(option.value)}:_files"


def _escape_colons(text: str) -> str:
    return text.replace(":", r"\:")


def _quote(text: str) -> str:
    """Return a word in single quotes, as bash, zsh and fish read it."""
    return "'" + text.replace("'", "'\\''") + "'"


# -- fish --------------------------------------------------------------------------------------------------------------


def write_fish(commands: Sequence[Command]) -> Iterator[str]:
    """Yield the lines of the completion for fish."""
    yield "# fish completion for context-inspector, written by packaging/make_shell_files.py"
    start = f"complete -c {NAME} -n __fish_use_subcommand"
    yield f"{start} -s h -l help -d 'show a short help'"
    yield f"{start} -l version -d 'show the version'"
    for command in commands:
        yield f"{start} -a {command.name} -d {_quote(command.purpose)}"
    for command in commands:
        for option in command.options:
            yield _write_fish_option(command.name, option)


def _write_fish_option(command: str, option: Option) -> str:
    words = ["complete", "-c", NAME, "-n", f"'__fish_seen_subcommand_from {command}'"]
    for name in option.names:
        words += ["-l", name[2:]] if name.startswith("--") else ["-s", name[1:]]
    if option.choices:
        words += ["-x", "-a", _quote(" ".join(option.choices))]
    elif option.value:
        words += ["-r", "-F"] if option.takes_file else ["-x"]
    return " ".join([*words, "-d", _quote(option.purpose)])


if __name__ == "__main__":
    main()
