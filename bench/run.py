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

"""Run the benches (all, or those that are named) and print their tables.

`make bench`, or `python bench/run.py speed`. What they keep: bench/results, by bench/tables.py.
"""

import importlib.util
import os
import platform
import sys
import time
from pathlib import Path


def main():
    wanted = sys.argv[1:]
    print(
        f'{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}, numpy'
        f' {__import__("numpy").__version__}'
    )
    failed = []
    for path in sorted(Path(__file__).parent.glob('bench_*.py')):
        if wanted and path.stem.removeprefix('bench_') not in wanted:
            continue
        print(f'\n== {path.stem}', flush=True)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        started = time.perf_counter()
        try:
            spec.loader.exec_module(module)
            module.main()
        except Exception as error:
            failed.append(path.stem)
            print(f'failed: {type(error).__name__}: {error}')
        print(f'({time.perf_counter() - started:.0f} s)')
    if failed:
        print(f'\nfailed: {", ".join(failed)}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
