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

"""Build of the ROS 2 package joint_dynamics (ament_python); `pip install .` and `colcon build` both use it."""

from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = 'joint_dynamics'
HERE = Path(__file__).parent
EXECUTABLES = sorted(path.name for path in (HERE / 'resource' / 'executables').iterdir())


def data_files():
    """Return what ROS looks for under share/ and lib/.

    Index marker, manifest, launch files, configuration, pages, executables.
    """
    files = [
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (f'share/{PACKAGE}', ['package.xml', 'LICENSE']),
        (f'lib/{PACKAGE}', [f'resource/executables/{name}' for name in EXECUTABLES]),
    ]
    # Errors and help texts name pages of docs/.
    for folder, pattern in (('launch', '*'), ('config', '*'), ('docs', '*.md')):
        by_folder = {}
        for path in sorted((HERE / folder).rglob(pattern)):
            if path.is_file() and '__pycache__' not in path.parts:
                relative = path.relative_to(HERE)
                by_folder.setdefault(relative.parent.as_posix(), []).append(relative.as_posix())
        files += [(f'share/{PACKAGE}/{parent}', names) for parent, names in by_folder.items()]
    return files


# Versions of ROS 2 Jazzy as the package index has them; a ROS installation brings its own.
ROS = [
    'ros-jazzy-rclpy[fastrtps]==7.1.6',
    *(f'ros-jazzy-{name}-msgs==5.3.6' for name in ('std', 'sensor', 'trajectory', 'diagnostic', 'geometry')),
    'ros-jazzy-std-srvs==5.3.6',
]
# Of everything, the oldest version that has what is used and the first that nobody has tried; exact: constraints.txt.
SDP = ['cvxpy>=1.5,<2', 'clarabel>=0.7,<1']
COMPLETION = ['argcomplete>=3,<4']
TEST = [
    *COMPLETION,
    'setuptools>=70,<85',
    'wheel>=0.40,<1',
    'pytest>=8,<8.4',
    'pytest-xdist>=3.5,<4',
    'hypothesis>=6.100,<7',
]
DOCS = ['sphinx>=8.1,<10', 'docutils>=0.21,<1', 'myst-parser>=4,<6', 'furo>=2024.8.6,<2027']
LINT = [
    'ruff>=0.17,<0.18',
    'mypy>=1.15,<3',
    'types-PyYAML>=6,<7',
    'build>=1,<2',
    'mutmut==3.8.*',
    'uv>=0.9,<1',
    'pip-licenses>=5,<6',
]
FIGURES = ['matplotlib>=3.8,<4']  # of the documentation (tools/figures.py)

setup(
    name=PACKAGE,
    version='0.3.0',
    description='Identify, estimate and compensate what the joints of a robot arm really do (ROS 2)',
    long_description=(HERE / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    author='The joint_dynamics authors',
    maintainer='The joint_dynamics maintainers',
    maintainer_email='maintainers@joint-dynamics.example',
    package_dir={'': 'src'},
    packages=find_packages('src'),
    package_data={
        PACKAGE: ['py.typed', *(f'**/*.{kind}' for kind in ('urdf', 'yaml', 'xml', 'css', 'js', 'json', 'LICENSE'))]
    },
    data_files=data_files(),
    zip_safe=False,
    python_requires='>=3.10',
    install_requires=[
        'setuptools>=61,<85',
        'numpy>=1.26,<3',
        'scipy>=1.11,<2',
        'pin>=2.7,<5',
        'rosbags>=0.11,<0.12',
        'mcap>=1.6,<2',
        'PyYAML>=6,<7',
        'jsonschema>=4.18,<5',
        'rich>=13,<16',
        'numba>=0.60,<0.70',
    ],
    extras_require={
        'ros': ROS,
        'sdp': SDP,
        'mujoco': ['mujoco>=3.2,<5'],
        'completion': COMPLETION,
        'dask': ['distributed>=2024.8,<2027'],
        'test': TEST,
        'docs': DOCS,
        'dev': [*TEST, *LINT, *FIGURES],
    },
    entry_points={
        # colcon puts it into lib/joint_dynamics (setup.cfg), where `ros2 run` finds it, pip into bin.
        'console_scripts': ['joint-dynamics = joint_dynamics.cli.main:main'],
        'joint_dynamics.controllers': [
            'computed_torque = joint_dynamics.control:ComputedTorque',
            'adaptive_friction = joint_dynamics.control:AdaptiveFriction',
            'flexible_joint = joint_dynamics.control:FlexibleJoint',
        ],
    },
)
