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

"""The site that `make docs` builds of these pages with Sphinx, into out/site, without network.

Formulas become MathML while it is built, which browsers set themselves: no script and no font comes from elsewhere.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx import addnodes

project = 'joint_dynamics'
author = 'The joint_dynamics authors'
copyright = 'The joint_dynamics authors, Apache-2.0'
extensions = ['myst_parser', 'sphinx.ext.autodoc', 'sphinx.ext.napoleon']
exclude_patterns = ['static', 'images']
nitpicky = True
# links of the pages are held; what a docstring calls a class need not be one of ours
nitpick_ignore_regex = [(r'py:.*', r'.*')]
# docstrings are written to be read in the source as well: their indents are theirs, and `n` is no reference
suppress_warnings = ['docutils', 'ref.python']
autodoc_typehints_format = 'short'
autodoc_type_aliases = {name: name for name in ('ArrayLike', 'FloatArray', 'BoolArray', 'IntArray')}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
autodoc_member_order = 'bysource'
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
highlight_language = 'none'
myst_enable_extensions = ['dollarmath']
# GitHub's anchors, so that links lead to the same place here and there
myst_heading_anchors = 4
html_theme = 'furo'
html_title = 'joint_dynamics'
html_static_path = ['static']
# the reports that tools/gallery.py makes, which some pages show
REPORTS = Path(__file__).parents[1] / 'out' / 'gallery'
html_css_files = ['site.css']
html_copy_source = False
html_show_sphinx = False
html_math_renderer = 'mathml'
html_theme_options = {
    'light_css_variables': {'color-brand-primary': '#00695c', 'color-brand-content': '#00695c'},
    'dark_css_variables': {'color-brand-primary': '#4db6ac', 'color-brand-content': '#4db6ac'},
}

#: The order of the pages, by section; a page that is in none fails the build.
CONTENTS = {
    'Begin': ['start', 'which-page', 'gallery', 'troubleshooting', 'glossary'],
    'How to': [
        'how-to/identify-my-robot',
        'how-to/beside-my-driver',
        'how-to/feed-forward',
        'how-to/watch-wear',
        'how-to/tune-the-estimator',
        'how-to/write-a-law',
        'how-to/controller_plugin',
    ],
    'Reference': ['reference/index'],
    'Explanation': ['explanation/index'],
    'How well': ['results/index'],
}
BELOW = {
    'how-to/beside-my-driver': [
        *('universal_robots', 'kinova', 'linkages', 'ros2_control', 'gazebo', 'two_robots', 'security'),
    ],
    'reference/index': [
        *(
            f'{name} <commands/{name}>'
            for name in (
                'calibrate', 'identify', 'validate', 'identify-joint', 'excite', 'check-compensation', 'gains',
                'export', 'watch', 'node', 'trend', 'demo', 'doctor',
            )
        ),
        'nodes',
        *(f'{name} <nodes/{name}>' for name in ('excitation', 'identifier', 'estimator', 'feedforward', 'simulator')),
        'gazebo_model <nodes/gazebo_model>',
        'launch',
        'configuration',
        'identification_settings',
        'recordings',
        'dynamics_description',
        'joint_models',
        'safety',
        'python',
        'api/index',
    ],
    'explanation/index': [
        'excitation', 'identification', 'uncertainty', 'friction_terms', 'drive_gains', 'resting_joints',
        'robust_and_physical', 'verdict', 'causes', 'estimation', 'changes', 'control', 'arm', 'simulation', 'errata',
        'references', 'limits', 'failures', '/structure',
    ],
    'reference/api/index': [
        'robot', 'joint', 'recording', 'excitation', 'description', 'arm', 'identification', 'estimation', 'control',
        'simulation', 'trend', 'settings',
    ],
    'results/index': ['chain', 'speed', 'papers'],
}  # fmt: skip


def add_contents(app: Any, name: str, source: list[str]) -> None:
    """Append the tables of contents of a page, which stand here and not in the pages."""
    for caption, pages in (CONTENTS if name == 'index' else {'': BELOW.get(name, [])}).items():
        lines = [':hidden:', *([f':caption: {caption}'] if caption else []), '', *pages]
        source[0] += '\n```{toctree}\n' + '\n'.join(lines) + '\n```\n' if pages else ''
    source[0] = superscript(source[0])


def superscript(text: str) -> str:
    """Return text with the exponent of the stiffness coefficients as raised letters, as in N·m/rad²ᵖ⁻¹."""
    return text.replace('^{2p−1}', '²ᵖ⁻¹').replace('^{2P−1}', '²ᴾ⁻¹')


def literal(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Make reStructuredText of a docstring: code in backticks, and bars that are absolute values."""
    for k, line in enumerate(lines):
        parts = re.split(r'(`+[^`]*`+)', line)
        lines[k] = ''.join(
            f'``{part.strip("`")}``' if part[:1] == '`' else part.replace('|', '\\|').replace('*', '\\*')
            for part in parts
        )
        lines[k] = superscript(lines[k])
    if what in ('property', 'attribute') and lines:
        # napoleon takes what stands before a colon for a type
        lines[0] = lines[0].replace(': ', ' – ', 1)


ARRAYS = (('bool', 'BoolArray'), ('int', 'IntArray'), ('float', 'FloatArray'))


def short_types(text: str) -> str:
    """Return annotations with the names of `joint_dynamics.arrays` for the types that Sphinx resolves them to."""
    text = re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r'\1', text)
    for kind, alias in ARRAYS:
        text = re.sub(rf'ndarray\[tuple\[Any, ?\.\.\.\], ?dtype\[{kind}\w*\]\]', alias, text)
    return text


def shorten_types(app: Any, doctree: nodes.document, page: str) -> None:
    """Write the types of parameters, returns and properties as the source does."""
    signed = (addnodes.desc_parameter, addnodes.desc_returns, addnodes.desc_annotation)
    for node in doctree.findall(lambda node: isinstance(node, signed)):
        text = node.astext()
        if (short := short_types(text)) != text:
            node.children = [nodes.Text(short)]


def formula(text: str, *, as_block: bool = False) -> str:
    """Return a formula as MathML; a subscript of an accented letter stands behind it, not below it."""
    accented = r'(\\(?:d?dot|hat|tilde)\s*(?:\\[a-zA-Z]+|[a-zA-Z]|\{[^{}]*\}))(?=_)'
    return str(tex2mathml(re.sub(accented, r'{{}\1}', text), as_block=as_block))


def inline_formula(translator: Any, node: nodes.math) -> None:
    """Set a formula within a line."""
    translator.body.append(formula(node.astext()))
    raise nodes.SkipNode


def block_formula(translator: Any, node: nodes.math_block) -> None:
    """Set a formula of its own lines."""
    translator.body.append(f'<div class="formula">{formula(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def copy_reports(app: Any, error: Exception | None) -> None:
    """Put the reports beside the pages that show them."""
    if error is None and REPORTS.is_dir():
        shutil.copytree(REPORTS, Path(app.outdir) / 'gallery', dirs_exist_ok=True)


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect('source-read', add_contents)
    app.connect('doctree-resolved', shorten_types)
    app.connect('build-finished', copy_reports)
    app.connect('autodoc-process-docstring', literal, priority=400)
    app.add_html_math_renderer('mathml', (inline_formula, None), (block_formula, None))
    return {'parallel_read_safe': True}
