# Everything lives in the virtual environment .venv; `make demo` and `make test` create it on a fresh machine.
PYTHON ?= python3
VENV   := .venv
# Exact versions; /dev/null: the newest that setup.py allows.
CONSTRAINTS ?= constraints.txt
# of setup.py: what `make env` installs and `make lock` resolves
EXTRAS := ros,sdp,mujoco,dask,dev,docs
comma := ,
BIN    := $(VENV)/bin
export AMENT_PREFIX_PATH := $(abspath $(VENV))$(if $(AMENT_PREFIX_PATH),:$(AMENT_PREFIX_PATH))
# what is packaged; pip leaves *.egg-info there, editors hidden files
SOURCES := $(shell find src launch config resource -type f -not -path '*/__pycache__/*' -not -path '*.egg-info/*' -not -name '.*' 2>/dev/null)

PROGRESS := tools/with_progress.sh
LOG := $(VENV)/log
ACCURACY := identification_methods deviations drive_gains robust reliability truth estimation control excitation laws contact changes
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest

.PHONY: env demo test test-slow test-nightly test-controllers fuzz mutants lint bench results soak papers docs lock licences clean

env: $(VENV)/.installed

# The output of pip is in $(LOG); a failure shows its end.
$(VENV)/.dependencies: setup.py pyproject.toml constraints.txt
	@tools/require_python.sh $(PYTHON)
	@$(BIN)/python -m pip --version > /dev/null 2>&1 || \
		$(PROGRESS) 'Creating the virtual environment $(VENV)' out/log/venv.log $(PYTHON) -m venv --clear $(VENV)
	@$(PROGRESS) 'Bringing pip up to date' $(LOG)/pip.log $(BIN)/python -m pip install --upgrade pip
	@$(PROGRESS) 'Installing what joint_dynamics needs (about 130 packages, a minute or two)' $(LOG)/dependencies.log \
		$(BIN)/python -m pip install -c $(CONSTRAINTS) '.[$(EXTRAS)]'
	@touch $@

$(VENV)/.installed: $(VENV)/.dependencies $(SOURCES) setup.py setup.cfg package.xml README.md
	@# old modules and numba's cache of old classes would stay
	@rm -rf build $(VENV)/lib/python3*/site-packages/joint_dynamics
	@$(PROGRESS) 'Installing joint_dynamics' $(LOG)/package.log $(BIN)/python -m pip install --no-deps --force-reinstall .
	@# once, here and not in the middle of a demo
	@$(PROGRESS) 'Compiling the simulated robot' $(LOG)/compile.log \
		$(BIN)/python -c "from joint_dynamics.simulation import FlexibleJointRobot; FlexibleJointRobot().step()"
	@$(PROGRESS) 'Compiling the estimator' $(LOG)/compile_estimator.log \
		$(BIN)/python -c "from joint_dynamics.arm import Arm; from joint_dynamics.estimation import *; \
		from joint_dynamics.robot import RobotModel; from joint_dynamics.simulation import ur5e_urdf; \
		JointEstimator(Arm(RobotModel.load(ur5e_urdf())), 0.002, EstimationSettings(friction='none'))"
	@touch $@

demo: env
	$(BIN)/joint-dynamics demo --out out/demo

# Two workers already fill two cores; threads inside numpy would only get in each other's way.
test: env
	$(PYTEST) -n 2 --dist worksteal -m 'not nightly and not slow' test

# longer tests; continuous integration runs both
test-slow: env
	$(PYTEST) -n 2 --dist worksteal -m 'slow and not nightly' test

test-nightly: env
	HYPOTHESIS_PROFILE=random $(PYTEST) -n 2 --dist worksteal -m 'nightly or hypothesis' test

# Small faults in joint/ and robot/ (pyproject.toml), each run against the tests that reach it.
mutants: env
	$(BIN)/mutmut run
	$(BIN)/mutmut results

# The C++ model of the controllers, without ROS, against this package's torques. It needs the packages that .ci/run names.
CONTROLLERS := $(abspath out/controllers)
test-controllers: env
	$(BIN)/python test/ros2_control/golden_vectors.py $(CONTROLLERS)/golden
	cmake -S ros2_control -B $(CONTROLLERS)/build -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_FLAGS=-Werror \
		-D GOLDEN_VECTORS=$(CONTROLLERS)/golden -D CMAKE_DISABLE_FIND_PACKAGE_ament_cmake=TRUE
	cmake --build $(CONTROLLERS)/build
	ctest --test-dir $(CONTROLLERS)/build --output-on-failure

# ten thousand mutated inputs for every reader: some 25 minutes of processor time
fuzz: env
	HYPOTHESIS_PROFILE=nightly $(PYTEST) -n 2 --dist worksteal -m fuzz test

lint: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy

# all benches (hours; those of speed need an idle machine); their tables are in bench/results
bench: env
	OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/run.py
	$(BIN)/python bench/tables.py

# the benches of accuracy, on any machine (an hour), and the pages with their tables
results: env
	OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/run.py $(ACCURACY)
	$(BIN)/python bench/tables.py
	$(BIN)/python tools/figures.py
	$(BIN)/python tools/gallery.py --picture

soak: env
	OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/soak.py --minutes 60

# the headline figures of the five papers beside ours: bench/published/results.json and docs/results/papers.md
papers: env
	OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/papers.py

# the generated parts of the pages (settings, parameters, topics, tables of the benches, reports), then the site in
# out/site; a dead link or anchor fails it
docs: env out/gallery/.made
	$(BIN)/python -m joint_dynamics.settings.documentation docs
	$(BIN)/python -m joint_dynamics.nodes.framework.documentation docs
	$(BIN)/python bench/papers.py --page
	$(BIN)/python bench/tables.py
	rm -rf out/site
	$(BIN)/sphinx-build -q -E -W --keep-going -n -d out/doctrees docs out/site
	@echo 'written: out/site/index.html'

out/gallery/.made: $(SOURCES) tools/gallery.py examples/record_bags.py | env
	@$(PROGRESS) 'Running the commands whose reports the site shows' out/log/gallery.log $(BIN)/python tools/gallery.py
	@touch $@

# The newest versions that setup.py allows, for Python 3.10 and later; then run the tests.
lock: env
	$(BIN)/uv pip compile --quiet --universal --upgrade --python-version 3.10 --no-annotate \
		--custom-compile-command 'make lock' $(addprefix --extra ,$(subst $(comma), ,$(EXTRAS))) setup.py -o constraints.txt

# the licence of every package in the environment
licences: env
	$(BIN)/pip-licenses --from=mixed --format=markdown --order=license

clean:
	rm -rf $(VENV) build out src/*.egg-info
