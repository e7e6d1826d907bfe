/**
 * The document as one HTML page that holds its style and its figures. It runs no script and loads
 * nothing; its own security policy forbids both. So it can be mailed, and opened from a disk.
 */

import { svgElement } from '../drawing/svg-plot.ts';
import { type Comparison, isTooFar, summaryOf } from '../findings/comparison.ts';
import type { Figure, Findings, Section, Table } from '../findings/section.ts';
import { spans } from './inline.ts';
import { PAGE_STYLE } from './page-style.ts';
import { method, outcome, SOURCES, TITLE } from './preface.ts';

export function asPage(findings: Findings): string {
  const { parts } = findings;
  const sections = parts.flatMap(({ report }) => report.sections);
  const ids = new Map(sections.map((section, i) => [section, `section-${i + 1}`]));
  const links = sections.map((section) => `<a href="#${ids.get(section)}">${inline(section.title)}</a>`);
  return [
    '<!DOCTYPE html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8"/>',
    '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>`,
    `<title>${TITLE}</title>`,
    `<style>${PAGE_STYLE}</style>`,
    '</head>',
    '<body>',
    '<main>',
    `<h1>${TITLE}</h1>`,
    `<p>${inline(method(findings))}</p>`,
    `<ul>${SOURCES.map(({ name, what }) => `<li><em>${name}</em>: ${escaped(what)}</li>`).join('')}</ul>`,
    `<p>${inline(outcome(findings))}</p>`,
    `<nav aria-label="Contents">${links.join('')}</nav>`,
    ...parts.flatMap(({ report }) => [
      ...report.sections.map((section) => sectionHtml(section, ids.get(section)!)),
      verdict(report.comparisons),
    ]),
    '</main>',
    '</body>',
    '</html>',
    '',
  ].join('\n');
}

function sectionHtml({ title, text, tables, figures = [], notes = [] }: Section, id: string): string {
  return [
    `<section id="${id}">`,
    `<h2>${inline(title)}</h2>`,
    ...text.map((words) => `<p>${inline(words)}</p>`),
    ...tables.map((table) => tableHtml(table, title)),
    ...(figures.length === 0 ? [] : [pictures(figures, id)]),
    ...notes.map((words) => `<p>${inline(words)}</p>`),
    '</section>',
  ].join('\n');
}

/** The figures of a section, side by side where there is room. */
function pictures(figures: readonly Figure[], id: string): string {
  const all = figures.map(({ plot, caption }, i) =>
    [
      '<figure>',
      svgElement(plot, `${id}-clip-${i}`),
      `<figcaption>${escaped(caption)}</figcaption>`,
      '</figure>',
    ].join('\n'),
  );
  return ['<div class="figures">', ...all, '</div>'].join('\n');
}

/** A table. One that is wider than the window can be scrolled, also with the keyboard. */
function tableHtml({ head, rows, names = 1, folds = [] }: Table, title: string): string {
  const group = (i: number) => (i === names || folds.includes(i) ? ' class="group"' : '');
  const cells = (row: readonly string[]) =>
    row.map((cell, i) =>
      i < names ? `<th scope="row">${inline(cell)}</th>` : `<td${group(i)}>${inline(cell)}</td>`,
    );
  return [
    `<div class="wide" role="region" tabindex="0" aria-label="${escaped(title.replaceAll('*', ''))}">`,
    '<table>',
    `<thead><tr>${head.map((cell, i) => `<th scope="col"${group(i)}>${inline(cell)}</th>`).join('')}</tr></thead>`,
    '<tbody>',
    ...rows.map((row) => `<tr>${cells(row).join('')}</tr>`),
    '</tbody>',
    '</table>',
    '</div>',
  ].join('\n');
}

function verdict(comparisons: readonly Comparison[]): string {
  const far = comparisons.filter(isTooFar);
  const words =
    far.length > 0 ? `Outside 5 σ: ${far.map(({ what }) => what).join('; ')}.` : 'All within 5 σ.';
  return `<p class="verdict${far.length > 0 ? ' far' : ''}"><strong>${escaped(words)}</strong> ${escaped(summaryOf(comparisons))}</p>`;
}

function inline(text: string): string {
  const tags = { plain: '', link: '', strong: 'strong', emphasis: 'em', code: 'code' } as const;
  return spans(text)
    .map(({ kind, text: words }) => {
      const tag = tags[kind];
      return tag === '' ? escaped(words) : `<${tag}>${escaped(words)}</${tag}>`;
    })
    .join('');
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
