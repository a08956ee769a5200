"""One peer's part of `judge.py`, run with that peer's own Python: NAME ITEMS WAITS LIMIT SECONDS.

Prints JSON: its version, CPU seconds of ITEMS judgements by a model that answers at once, wall
seconds of WAITS judgements that take SECONDS each, LIMIT at once, and wall seconds of the ITEMS a
second time with its own cache of answers, null where it has none for its judge.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import logging
import os
import sys
import time
from collections.abc import Callable
from typing import Any

PROSE = "The order was placed on Monday and the parcel left the warehouse on Tuesday. "
ANSWER = "Your order is on its way."
Evaluate = Callable[[int, float, bool], Any]


def inspect_ai(limit: int) -> Evaluate:
    """Samples that one scorer grades with a model that is a function."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import GenerateConfig, ModelAPI, ModelOutput, get_model, modelapi
    from inspect_ai.scorer import model_graded_qa
    from inspect_ai.solver import Generate, TaskState, solver

    delay = [0.0]

    @modelapi(name="scripted")
    class Scripted(ModelAPI):  # type: ignore[misc]
        async def generate(self, *args: Any, **named: Any) -> ModelOutput:
            await asyncio.sleep(delay[0])
            return ModelOutput.from_content("scripted", "It does. GRADE: C")

        def max_connections(self) -> int:
            return limit

    @solver
    def recorded() -> Any:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            state.output = ModelOutput.from_content("recorded", ANSWER)
            return state

        return solve

    def evaluate(count: int, seconds: float, keeps: bool) -> None:
        delay[0] = seconds
        samples = [Sample(input=f"{n}: {PROSE * 10}", target="on its way") for n in range(count)]
        grader = get_model("scripted/m", config=GenerateConfig(max_connections=limit))
        task = Task(dataset=samples, solver=recorded(), scorer=model_graded_qa(model=grader))
        (log,) = eval(
            task, model=grader, max_samples=limit, display="none", log_dir="logs", log_level="error"
        )
        assert log.status == "success", log.error

    return evaluate


def deepeval(limit: int) -> Evaluate:
    """Test cases that one metric measures with a model that is a function."""
    os.environ.update(DEEPEVAL_TELEMETRY_OPT_OUT="YES", CONFIDENT_METRIC_LOGGING_VERBOSE="0")
    from deepeval import evaluate as evaluated
    from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.metrics import GEval
    from deepeval.models import DeepEvalBaseLLM
    from deepeval.test_case import LLMTestCase

    try:
        from deepeval.test_case import SingleTurnParams as Params
    except ImportError:
        from deepeval.test_case import LLMTestCaseParams as Params

    class Scripted(DeepEvalBaseLLM):  # type: ignore[misc]
        delay = 0.0

        def load_model(self, *args: Any, **named: Any) -> Any:
            return self

        def generate(self, prompt: str, *args: Any, **named: Any) -> str:
            return json.dumps({"score": 10, "reason": "It does."})

        async def a_generate(self, prompt: str, *args: Any, **named: Any) -> str:
            await asyncio.sleep(self.delay)
            return self.generate(prompt)

        def get_model_name(self) -> str:
            return "scripted"

    model = Scripted()

    def evaluate(count: int, seconds: float, keeps: bool) -> None:
        model.delay = seconds
        metric = GEval(
            name="told",
            evaluation_steps=["Check that the output says where the order is."],
            evaluation_params=[Params.INPUT, Params.ACTUAL_OUTPUT],
            model=model,
        )
        cases = [
            LLMTestCase(input=f"{n}: {PROSE * 10}", actual_output=ANSWER) for n in range(count)
        ]
        evaluated(
            cases,
            [metric],
            async_config=AsyncConfig(max_concurrent=limit, throttle_value=0),
            cache_config=CacheConfig(use_cache=keeps, write_cache=keeps),
            display_config=DisplayConfig(show_indicator=False, print_results=False),
        )

    return evaluate


def pydantic_evals(limit: int) -> Evaluate:
    """Cases that one LLMJudge evaluates with a model that is a function; it has no cache."""
    from pydantic_ai.messages import ModelResponse, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_evals import Case, Dataset
    from pydantic_evals.evaluators import LLMJudge

    delay = [0.0]

    async def answer(messages: Any, info: Any) -> ModelResponse:
        await asyncio.sleep(delay[0])
        said = {"reason": "It does.", "pass": True, "score": 1.0}
        (tool,) = info.output_tools
        return ModelResponse(parts=[ToolCallPart(tool.name, said)])

    async def recorded(text: str) -> str:
        return ANSWER

    def evaluate(count: int, seconds: float, keeps: bool) -> None:
        delay[0] = seconds
        judge = LLMJudge(rubric="It says where the order is.", model=FunctionModel(answer))
        cases = [Case(name=str(n), inputs=f"{n}: {PROSE * 10}") for n in range(count)]
        dataset = Dataset(name="items", cases=cases, evaluators=[judge])
        report = dataset.evaluate_sync(recorded, max_concurrency=limit, progress=False)
        assert len(report.cases) == count

    return evaluate


PEERS = {"inspect-ai": inspect_ai, "deepeval": deepeval, "pydantic-evals": pydantic_evals}
KEEPS = ("deepeval",)


def main(name: str, items: int, waits: int, limit: int, seconds: float) -> None:
    """Measure one peer."""
    logging.disable(logging.CRITICAL)
    evaluate = PEERS[name](limit)
    evaluate(2, 0.0, False)
    cpu = time.process_time()
    evaluate(items, 0.0, False)
    cpu = time.process_time() - cpu
    begun = time.perf_counter()
    evaluate(waits, seconds, False)
    waited = time.perf_counter() - begun
    again = None
    if name in KEEPS:
        evaluate(items, 0.0, True)
        begun = time.perf_counter()
        evaluate(items, 0.0, True)
        again = time.perf_counter() - begun
    version = importlib.metadata.version(name)
    print(json.dumps({"version": version, "cpu": cpu, "again": again, "waits": waited}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]), float(sys.argv[5]))
