# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Run the benches (all, or those named) and keep their tables: `make bench`, or `python bench/run.py speed`."""

import sys
import time
import traceback
from importlib import import_module
from pathlib import Path


def main():
    """Return 1 if a bench failed."""
    names = [path.stem for path in sorted(Path(__file__).parent.glob('bench_*.py'))]
    failed = []
    for name in [f'bench_{word}' for word in sys.argv[1:]] or names:
        print(f'\n== {name}', flush=True)
        started = time.perf_counter()
        try:
            import_module(name).main()
        except Exception:
            traceback.print_exc()
            failed.append(name)
        print(f'({time.perf_counter() - started:.0f} s)')
    if failed:
        print(f'\nfailed: {", ".join(failed)}')
    return int(bool(failed))


if __name__ == '__main__':
    sys.exit(main())
