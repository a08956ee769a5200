"""One peer's part of `peers_behaviour.py`, run with that peer's own Python: NAME SITUATION URL.

Prints one line of JSON: the peer's version, what a user gets of one judged answer (or of an empty
dataset), and each address outside this machine that it tried to reach. Nothing outside is reached:
the attempt is written down and refused. Each peer is used as its documentation shows it first.
"""

from __future__ import annotations

import atexit
import importlib.metadata
import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

QUESTION = "Where is my order?"
ANSWER = "Your order is on its way."
MODEL = "gpt-4o"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
Judged = Callable[[str, list[str]], Any]


def inspect_ai(url: str, answers: list[str]) -> Any:
    """`model_graded_qa` on samples whose outputs are there already."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import model_graded_qa
    from inspect_ai.solver import Generate, TaskState, solver

    @solver
    def recorded() -> Any:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            state.output = ModelOutput.from_content("recorded", state.metadata["answer"])
            return state

        return solve

    samples = [Sample(input=QUESTION, target="on its way", metadata={"answer": a}) for a in answers]
    model = f"openai/{MODEL}"
    task = Task(MemoryDataset(samples), solver=recorded(), scorer=model_graded_qa(model=model))
    (log,) = eval(task, model=model, display="none", log_dir="logs", log_level="error")
    scores = [s.scores and {k: v.value for k, v in s.scores.items()} for s in log.samples or ()]
    metrics = {
        name: metric.value
        for score in (log.results.scores if log.results else ())
        for name, metric in score.metrics.items()
    }
    unscored = [score.unscored_samples for score in (log.results.scores if log.results else ())]
    return {
        "status": log.status,
        "scores": scores,
        "metrics": metrics,
        "unscored": unscored,
        "sampleErrors": [s.error.message[:80] for s in log.samples or () if s.error],
    }


def deepeval(url: str, answers: list[str]) -> Any:
    """`GEval` in `evaluate`."""
    from deepeval import evaluate
    from deepeval.evaluate import DisplayConfig
    from deepeval.metrics import GEval
    from deepeval.models import OpenAIModel
    from deepeval.test_case import LLMTestCase, SingleTurnParams

    metric = GEval(
        name="told",
        evaluation_steps=["Check that the output says where the order is."],
        evaluation_params=[SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT],
        model=OpenAIModel(model=MODEL, base_url=url),
    )
    cases = [LLMTestCase(input=QUESTION, actual_output=a) for a in answers]
    shown = DisplayConfig(show_indicator=False, print_results=False)
    found = evaluate(cases, [metric], display_config=shown)
    return [
        {
            "success": one.success,
            "metrics": [
                {"success": m.success, "score": m.score, "error": m.error}
                for m in one.metrics_data or ()
            ],
        }
        for one in found.test_results
    ]


def pydantic_evals(url: str, answers: list[str]) -> Any:
    """`LLMJudge` on a dataset."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_evals import Case, Dataset
    from pydantic_evals.evaluators import LLMJudge

    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=url))
    judge = LLMJudge(rubric="It says where the order is.", model=model)
    cases = [Case(name=str(n), inputs=a) for n, a in enumerate(answers)]
    dataset = Dataset(name="items", cases=cases, evaluators=[judge])

    async def recorded(answer: str) -> str:
        return answer

    report = dataset.evaluate_sync(recorded, progress=False)
    return {
        "assertions": [{k: v.value for k, v in c.assertions.items()} for c in report.cases],
        "failures": [
            f"{f.error_message}"[:100] for c in report.cases for f in c.evaluator_failures
        ],
        "failedCases": len(report.failures),
    }


def openevals(url: str, answers: list[str]) -> Any:
    """`create_llm_as_judge` with the correctness prompt."""
    from openevals.llm import create_llm_as_judge
    from openevals.prompts import CORRECTNESS_PROMPT

    judge = create_llm_as_judge(
        prompt=CORRECTNESS_PROMPT, model=f"openai:{MODEL}", feedback_key="correctness"
    )
    return [judge(inputs=QUESTION, outputs=a, reference_outputs="on its way") for a in answers]


def agentevals(url: str, answers: list[str]) -> Any:
    """`create_trajectory_llm_as_judge` with the accuracy prompt."""
    from agentevals.trajectory.llm import (
        TRAJECTORY_ACCURACY_PROMPT,
        create_trajectory_llm_as_judge,
    )

    judge = create_trajectory_llm_as_judge(
        prompt=TRAJECTORY_ACCURACY_PROMPT, model=f"openai:{MODEL}"
    )
    return [
        judge(
            outputs=[
                {"role": "user", "content": QUESTION},
                {"role": "assistant", "content": answer},
            ]
        )
        for answer in answers
    ]


def autoevals(url: str, answers: list[str]) -> Any:
    """`Factuality`."""
    from autoevals import Factuality

    judge = Factuality(model=MODEL, base_url=url, api_key="none")
    return [
        {"score": one.score, "error": str(one.error) if one.error else None}
        for a in answers
        for one in [judge.eval(input=QUESTION, output=a, expected="on its way")]
    ]


def ragas(url: str, answers: list[str]) -> Any:
    """`AspectCritic` in `evaluate`, with its default of not raising."""
    from langchain_openai import ChatOpenAI
    from ragas import EvaluationDataset, SingleTurnSample, evaluate
    from ragas.llms import LangchainLLMWrapper
    from ragas.metrics import AspectCritic

    llm = LangchainLLMWrapper(ChatOpenAI(model=MODEL, base_url=url))
    critic = AspectCritic(name="told", definition="Does it say where the order is?", llm=llm)
    samples = [SingleTurnSample(user_input=QUESTION, response=a) for a in answers]
    found = evaluate(EvaluationDataset(samples), metrics=[critic], show_progress=False)
    return {"scores": found.scores, "shown": str(found)}


def phoenix(url: str, answers: list[str]) -> Any:
    """`create_classifier` in `evaluate_dataframe`."""
    import pandas
    from phoenix.evals import LLM, create_classifier, evaluate_dataframe

    judge = create_classifier(
        name="told",
        prompt_template="Does the answer say where the order is?\n\nAnswer: {answer}",
        llm=LLM(provider="openai", model=MODEL, base_url=url),
        choices={"yes": 1.0, "no": 0.0},
    )
    frame = pandas.DataFrame({"answer": pandas.Series(answers, dtype=object)})
    found = evaluate_dataframe(dataframe=frame, evaluators=[judge])
    columns = [c for c in found.columns if c.endswith(("_score", "_details"))]
    return found[columns].to_dict(orient="records")


def openai_evals(url: str, answers: list[str]) -> Any:
    """The `closedqa` grader of the open-source evals, as its `ModelBasedClassify` calls it."""
    from evals.completion_fns.openai import OpenAIChatCompletionFn
    from evals.elsuite.modelgraded.base import ModelGradedSpec
    from evals.elsuite.modelgraded.classify_utils import classify
    from evals.record import DummyRecorder, RunSpec

    spec = ModelGradedSpec(
        prompt="Question: {input}\nAnswer: {completion}\nDoes the answer say where the order is?",
        choice_strings=["Y", "N"],
        input_outputs={"input": "completion"},
        eval_type="cot_classify",
        key="told",
        group="modelgraded",
    )
    run = RunSpec([MODEL], "told", "told", "", {}, "")
    judge = OpenAIChatCompletionFn(model=MODEL, api_base=url, api_key="none")
    choices = []
    with DummyRecorder(run, log=False).as_default_recorder("0"):
        for a in answers:
            given = {"input": QUESTION, "completion": a}
            choices.append(
                classify(
                    mg=spec,
                    completion_fn=judge,
                    completion_kwargs={"max_tokens": 64},
                    format_kwargs=given,
                    eval_type="cot_classify",
                )[0]
            )
    return choices


PEERS: dict[str, tuple[str, Judged]] = {
    "inspect-ai": ("inspect-ai", inspect_ai),
    "deepeval": ("deepeval", deepeval),
    "pydantic-evals": ("pydantic-evals", pydantic_evals),
    "openevals": ("openevals", openevals),
    "agentevals": ("agentevals", agentevals),
    "autoevals": ("autoevals", autoevals),
    "ragas": ("ragas", ragas),
    "phoenix": ("arize-phoenix-evals", phoenix),
    "openai-evals": ("evals", openai_evals),
}


def watched(sought: list[str]) -> None:
    """Refuse every address outside this machine, and write down which was asked for."""
    resolve, connect = socket.getaddrinfo, socket.socket.connect

    def resolving(host: Any, *args: Any, **named: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name is not None and name not in LOOPBACK:
            sought.append(str(name))
            raise socket.gaierror(socket.EAI_NONAME, f"not looked up: {name}")
        return resolve(host, *args, **named)

    def connecting(self: socket.socket, address: Any) -> Any:
        if isinstance(address, tuple) and address[0] not in LOOPBACK:
            sought.append(str(address[0]))
            raise ConnectionRefusedError(f"not reached: {address[0]}")
        return connect(self, address)

    socket.getaddrinfo = resolving
    socket.socket.connect = connecting  # type: ignore[method-assign]


def main(name: str, situation: str, url: str) -> None:
    """Ask one peer in one situation; `planted` judges the text in the variable PLANTED."""
    sought: list[str] = []
    watched(sought)
    answers = {"empty dataset": [], "planted": [os.environ.get("PLANTED", "")]}
    package, judged = PEERS[name]
    try:
        said = judged(url, answers.get(situation, [ANSWER]))
    except BaseException as error:
        said = {"raised": type(error).__name__, "text": str(error)[:160]}
    # What a peer sends when it ends is sent now; it gets a few seconds for it.
    ending = threading.Thread(target=atexit._run_exitfuncs, daemon=True)
    ending.start()
    ending.join(5)
    told = {
        "version": importlib.metadata.version(package),
        "said": said,
        "sought": sorted(set(sought)),
    }
    print("\n" + json.dumps(told, default=str))
    sys.stdout.flush()
    # Threads that a peer left running must not hold the process.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:4])
