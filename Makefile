# Everything lives in the virtual environment .venv; `make demo` and `make test` create it on a fresh machine.
PYTHON ?= python3
# of `make demo`: own or mujoco
ENGINE ?= own
VENV   := .venv
BIN    := $(VENV)/bin
export AMENT_PREFIX_PATH := $(abspath $(VENV))$(if $(AMENT_PREFIX_PATH),:$(AMENT_PREFIX_PATH))
SOURCES := $(shell find src launch config resource -type f -not -path '*/__pycache__/*' 2>/dev/null)

.PHONY: env demo test lint bench soak docs clean

env: $(VENV)/.installed

$(VENV)/.dependencies: setup.py pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet '.[ros,sdp,mujoco,dev]'
	touch $@

$(VENV)/.installed: $(VENV)/.dependencies $(SOURCES) setup.py setup.cfg package.xml README.md
	$(BIN)/python -m pip install --quiet --no-deps --force-reinstall .
	# compiles the simulated robot once, here and not in the middle of a demo
	$(BIN)/python -c "from joint_dynamics.simulation import FlexibleJointRobot; FlexibleJointRobot().step()"
	touch $@

demo: env
	$(BIN)/joint-dynamics demo --out out/demo --engine $(ENGINE)

test: env
	# two workers already fill two cores; threads inside numpy would only get in each other's way
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal test

lint: env
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: env
	OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/run.py

soak: env
	OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/soak.py --minutes 30

docs: env
	$(BIN)/python -m pytest test/test_documentation.py

clean:
	rm -rf $(VENV) build out src/*.egg-info
