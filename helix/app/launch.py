"""The shim over Hydra: one command's words to one run, a sweep, or what Hydra itself can show."""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.hydra import Hydra
from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict

from helix.app import compose as composing
from helix.app import console, job, keys, sweeps
from helix.app.arguments import verbosity_flags, verbosity_words
from helix.app.compose import Typed
from helix.app.plugins import config_folders
from helix.app.quoting import quoted, readable
from helix.errors import ConfigError, ExitCode, UsageError, worst
from helix.model.config import Config
from helix.redaction import redacted

REFUSED_FLAGS = {
    "experimental_rerun": "--experimental-rerun is refused: it would unpickle a file",
    "config_path": "--config-path is refused: add a folder with --config-dir",
    "config_name": "--config-name is refused: the command has its own; use experiment=NAME",
}


def run(command: str, argv: Sequence[str]) -> ExitCode:
    """Run a Hydra command with its words in any order and return its exit code."""
    args = _parsed(command, argv)
    added = ["--config-dir", args.config_dir] if args.config_dir else []
    with composing.opened(command, [*config_folders(), *added[1:]]) as hydra:
        if args.shell_completion:
            with _printing():
                hydra.shell_completion(command, args.overrides)
            return ExitCode.PASS
        groups = [g for g in hydra.config_loader.list_groups("") if g != "hydra"]
        overrides = composing.typed(args.overrides, groups, multirun=args.multirun)
        if args.cfg or args.info or args.hydra_help:
            return _show(hydra, command, args, [o.word for o in overrides])
        if args.multirun:
            return _sweep(hydra, command, overrides, added)
        return _single(hydra, command, overrides, [*args.overrides, *added])


def configured(command: str, words: Sequence[str]) -> Config:
    """Return the validated configuration of a Hydra command with these overrides; nothing runs."""
    return located(command, words)[0]


def located(command: str, words: Sequence[str], folders: Sequence[str] = ()) -> tuple[Config, Path]:
    """Return what `configured` does, and the run directory that a run of it would have.

    `folders` hold config groups of the user's own.
    """
    with composing.opened(command, [*config_folders(), *folders]) as hydra:
        groups = [g for g in hydra.config_loader.list_groups("") if g != "hydra"]
        overrides = composing.typed(words, groups, multirun=False)
        composed = composing.compose(hydra, command, [o.word for o in overrides])
        return _placed(composed, overrides)


def complete(argv: Sequence[str], commands: Sequence[str]) -> ExitCode:
    """Answer a shell's completion: the command's name first, then what Hydra knows of it."""
    line = os.environ.get("COMP_LINE", "")
    words = line.split()
    if any(word.startswith("query=") for word in argv):
        if len(words) < 2 or (len(words) == 2 and not line.endswith(" ")):
            start = words[1] if len(words) == 2 else ""
            console.say(" ".join(c for c in commands if c.startswith(start)))
            return ExitCode.PASS
        os.environ["COMP_LINE"] = line.replace(words[1], "", 1)
    return run(words[1] if len(words) > 1 else commands[0], argv)


def _parsed(command: str, argv: Sequence[str]) -> argparse.Namespace:
    parser = get_args_parser()
    parser.prog = f"helix {command}"

    def wrong(message: str) -> NoReturn:
        if any(word.partition("=")[0] in ("--traces", "--suite") for word in argv):
            message += "; type subject.traces=PATH for --traces, criteria.file=SUITE for --suite"
        raise UsageError(f"{message}; see: helix {command} --help")

    parser.error = wrong  # type: ignore[method-assign]
    verbosity_flags(parser)
    # Intermixed, because Hydra's own order refuses an option after an override.
    args = parser.parse_intermixed_args(list(argv))
    for name, text in REFUSED_FLAGS.items():
        if getattr(args, name):
            raise UsageError(text)
    if args.multirun and (args.run or args.cfg or args.info):
        raise UsageError("--multirun cannot be combined with --run, --cfg or --info")
    args.overrides += verbosity_words(args)
    return args


def _show(hydra: Hydra, command: str, args: argparse.Namespace, words: Sequence[str]) -> ExitCode:
    composing.compose(hydra, command, words)
    args.overrides = list(words)
    try:
        with composing.as_config_error(), _printing():
            if args.cfg:
                hydra.show_cfg(command, args.overrides, args.cfg, args.package, args.resolve)
            elif args.info:
                hydra.show_info(args.info, config_name=command, overrides=args.overrides)
            else:
                hydra.hydra_help(command, args_parser=get_args_parser(), args=args)
    except SystemExit:
        # Hydra has said why; its status 1 would read as a gate that fails.
        return ExitCode.USAGE
    return ExitCode.PASS


@contextlib.contextmanager
def _printing() -> Iterator[None]:
    """Say what Hydra prints as everything is said: without secrets, and to nobody who went away."""
    told = io.StringIO()
    try:
        with contextlib.redirect_stdout(told):
            yield
    finally:
        console.say(redacted(told.getvalue()))


def _single(
    hydra: Hydra, command: str, overrides: Sequence[Typed], typed: Sequence[str]
) -> ExitCode:
    composed = composing.compose(hydra, command, [o.word for o in overrides])
    config, run_dir = _placed(composed, overrides)
    return job.execute(command, config, run_dir, typed)


def _placed(composed: DictConfig, overrides: Sequence[Typed]) -> tuple[Config, Path]:
    run_dir = composing.directory(composed, "hydra.run.dir")
    config = composing.validated(composing.placed(composed, str(run_dir)), overrides)
    composing.refuse_astray("hydra.run.dir", run_dir, config, overrides)
    return config, run_dir


def _sweep(
    hydra: Hydra, command: str, overrides: Sequence[Typed], added: Sequence[str]
) -> ExitCode:
    words = [o.word for o in overrides]
    composed = composing.compose(hydra, command, words, RunMode.MULTIRUN)
    root = composing.directory(composed, "hydra.sweep.dir")
    words.append(f"hydra.sweep.dir={quoted(str(root))}")
    jobs = _preflight(hydra, composed, root, overrides)
    heads = _heads(jobs)
    try:
        batches = hydra.multirun(
            config_name=command,
            task_function=functools.partial(_task, command, added, heads),
            overrides=words,
            with_log_configuration=False,
        )
    finally:
        # Hydra saves the composed configuration there, which may hold what was meant as a secret.
        (root / "multirun.yaml").unlink(missing_ok=True)
    done = [result for batch in batches for result in batch]
    folders = [Path(result.hydra_cfg.hydra.runtime.output_dir) for result in done]
    codes = [job.exit_code(folder) for folder in folders]
    console.tell("")
    for head, folder, code in zip(heads, folders, codes, strict=True):
        console.tell(f"{head}: {job.gate(folder)}, exit {int(code)}, {folder}")
    for warning in sweeps.warnings(folders):
        console.tell(warning)
    return worst(codes)


def _heads(jobs: Sequence[Sequence[str]]) -> list[str]:
    """Return what each job of a sweep is called: its number, and the words that not all share."""
    shared = set(jobs[0]).intersection(*jobs[1:]) if len(jobs) > 1 else set()
    return [
        " ".join([f"{number} of {len(jobs)}:", *(_readable(w) for w in words if w not in shared)])
        for number, words in enumerate(jobs, 1)
    ]


def _readable(word: str) -> str:
    name, equals, value = word.partition("=")
    key = keys.find(name.lstrip("+"))
    return f"{name}={readable(value, key)}" if key is not None and equals else word


def _preflight(
    hydra: Hydra, composed: DictConfig, root: Path, overrides: Sequence[Typed]
) -> list[list[str]]:
    """Compose and validate every job of a sweep before the first one starts; return their words."""
    folders: dict[Path, int] = {}
    with composing.as_config_error():
        jobs = _jobs(hydra, composed)
    for number, words in enumerate(jobs):
        try:
            with composing.as_config_error():
                config = hydra.config_loader.load_sweep_config(composed, list(words))
            with open_dict(config):
                config.hydra.job.id = config.hydra.job.num = number
            composing.refuse(config)
            folder = root / composing.directory(config, "hydra.sweep.subdir")
            valid = composing.validated(composing.placed(config, str(folder)), overrides)
            composing.refuse_astray("hydra.sweep.dir", root, valid, overrides)
            if not Path(os.path.abspath(folder)).is_relative_to(os.path.abspath(root)):
                raise ConfigError(f"hydra.sweep.subdir must stay below {root} (got {folder})")
            if folders and valid.subject.traces == "-":
                raise ConfigError("standard input can be read once, by one job")
        except ConfigError as error:
            raise ConfigError(f"job {number} ({' '.join(words)}): {error}") from error
        if folder in folders:
            raise ConfigError(
                f"hydra.sweep.subdir must differ between jobs (got {folder} for jobs "
                f"{folders[folder]} and {number}); ${{hydra.job.num}} differs"
            )
        folders[folder] = number
    if not folders:
        raise ConfigError("the sweep has no jobs: give a key values separated by commas")
    return jobs


def _jobs(hydra: Hydra, composed: DictConfig) -> list[list[str]]:
    params = composed.hydra.sweeper.params or {}
    words = [f"{key}={value}" for key, value in params.items()]
    words += _words(composed.hydra)
    parsed = OverridesParser.create(config_loader=hydra.config_loader).parse_overrides(words)
    return BasicSweeper.split_arguments(parsed, max_batch_size=None)[0]


def _words(hydra: Any) -> list[str]:
    """Return the overrides of a job, `${…}` in them as typed."""
    words: Any = OmegaConf.to_container(hydra.overrides.task, resolve=False)
    return [str(word) for word in words]


def _task(command: str, added: Sequence[str], heads: Sequence[str], config: DictConfig) -> Any:
    """Be one job of a sweep, perhaps in a process of its own."""
    own = HydraConfig.get()
    console.tell(f"── {heads[own.job.num]}")
    folder, words = Path(own.runtime.output_dir), [*map(_readable, _words(own)), *added]
    return int(job.execute(command, composing.validated(config), folder, words, tidy=False))
