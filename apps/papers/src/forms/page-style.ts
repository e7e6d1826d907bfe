/**
 * The style of the page: one narrow column for text, tables as wide as they need, two sets of
 * colours. It uses fonts that the reader has. The colours of plots are the same as in the files
 * (svg-plot.ts).
 */

export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --page: #ffffff; --raised: #f6f8fa; --ink: #1f2328; --quiet: #59636e; --rule: #d1d9e0; --accent: #0969da; --wrong: #a40e26; --right: #1a7f37;
  --grid: #d8dee4; --c0: #0969da; --c1: #bc4c00; --c2: #1a7f37; --c3: #8250df; --c4: #bf3989;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0d1117; --raised: #151b23; --ink: #e6edf3; --quiet: #9198a1; --rule: #3d444d; --accent: #58a6ff; --wrong: #ff8b83; --right: #56d364;
    --grid: #2d333b; --c0: #58a6ff; --c1: #f0883e; --c2: #56d364; --c3: #bc8cff; --c4: #f778ba;
  }
}
* { box-sizing: border-box }
html { -webkit-text-size-adjust: 100% }
body {
  margin: 0 auto; padding: 3rem clamp(1rem, 4vw, 3rem) 6rem; max-width: 84rem; background: var(--page); color: var(--ink);
  font: 1.0625rem/1.6 Charter, 'Bitstream Charter', 'Source Serif 4', 'Iowan Old Style', Georgia, 'DejaVu Serif', serif;
}
h1, h2, nav, table, figcaption, .verdict, svg text { font-family: system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif }
h1 { margin: 0 0 1.5rem; font-size: clamp(1.9rem, 5vw, 2.6rem); line-height: 1.15; letter-spacing: -0.02em }
h2 { margin: 4rem 0 1rem; padding-top: 1rem; border-top: 1px solid var(--rule); font-size: 1.4rem; line-height: 1.25; letter-spacing: -0.01em }
h2 em { font-style: italic }
p, ul, nav, .verdict { max-width: 44rem }
p { margin: 0 0 1rem; hyphens: auto; overflow-wrap: break-word }
ul { padding-left: 1.25rem }
nav { margin: 2rem 0 0; font-size: 0.9375rem; columns: 2 18rem; column-gap: 2rem }
nav a { display: block; padding: 0.15rem 0; break-inside: avoid }
a { color: var(--accent); text-decoration: none }
a:hover, a:focus-visible { text-decoration: underline }
code { font: 0.88em ui-monospace, 'SF Mono', Menlo, 'DejaVu Sans Mono', monospace; background: var(--raised); padding: 0.1em 0.3em; border-radius: 4px; overflow-wrap: anywhere }
.wide { margin: 1.5rem 0; overflow-x: auto; border: 1px solid var(--rule); border-radius: 8px }
.wide:focus-visible { outline: 2px solid var(--accent) }
table { border-collapse: collapse; width: 100%; font-size: 0.8438rem; line-height: 1.35; font-variant-numeric: tabular-nums lining-nums }
th, td { padding: 0.38rem 0.7rem; text-align: right; white-space: nowrap }
thead th { background: var(--raised); border-bottom: 1px solid var(--rule); color: var(--quiet); font-weight: 600; vertical-align: bottom; white-space: normal }
tbody tr + tr > * { border-top: 1px solid color-mix(in srgb, var(--rule) 45%, transparent) }
tbody th { font-weight: 600 }
tbody tr:hover > * { background: var(--raised) }
td strong { color: var(--wrong) }
.group { border-left: 1px solid var(--rule) }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 32rem), 1fr)); gap: 1.5rem; margin: 2rem 0 }
figure { margin: 0; max-width: 50rem }
figcaption { margin-top: 0.5rem; color: var(--quiet); font-size: 0.875rem }
.verdict { margin-top: 1.5rem; padding: 0.6rem 1rem; border-left: 3px solid var(--right); background: var(--raised); font-size: 0.9375rem }
.verdict.far { border-color: var(--wrong) }
.plot { display: block; width: 100%; height: auto; border: 1px solid var(--rule); border-radius: 8px }
.plot .page, .plot .hollow { fill: var(--page) } .plot text { fill: var(--ink); font-size: 13px } .plot .title { font-size: 15px; font-weight: 600 }
.plot .small { font-size: 12px } .plot .frame { stroke: var(--quiet); fill: none } .plot .grid { stroke: var(--grid) }
.plot .mark { stroke: var(--quiet); stroke-dasharray: 4 3 }
.plot .c0 { stroke: var(--c0) } .plot .c1 { stroke: var(--c1) } .plot .c2 { stroke: var(--c2) } .plot .c3 { stroke: var(--c3) } .plot .c4 { stroke: var(--c4) }
.plot .f0 { fill: var(--c0) } .plot .f1 { fill: var(--c1) } .plot .f2 { fill: var(--c2) } .plot .f3 { fill: var(--c3) } .plot .f4 { fill: var(--c4) }
@media print { body { max-width: none; padding: 0 } .wide { overflow: visible } table { font-size: 0.62rem } th, td { padding: 0.2rem 0.3rem } h2, figure, tr { break-inside: avoid } }
`;
