/** The picture of an intersection: three messages between two sides, and what each can read. */

const WIDTH = 760;
const LEFT = 96;
const RIGHT = WIDTH - 96;
const STEPS: readonly (readonly [from: 'left' | 'right', label: string, note: string])[] = [
  ['left', 'H(x)^a  for each key, in random order', 'points: random to one who has no a'],
  ['right', 'H(y)^b  for each key, in random order', 'points: random to one who has no b'],
  ['right', 'tags of  H(x)^ab', 'equal to a tag of H(y)^ba only for x = y'],
  ['left', 'which points of Bob are common', 'one bit for each'],
];

export function intersectionPicture(): string {
  const row = 64;
  const top = 92;
  const height = top + STEPS.length * row;
  const arrows = STEPS.flatMap(([from, label, note], i) => {
    const y = top + i * row;
    const [start, end] = from === 'left' ? [LEFT, RIGHT] : [RIGHT, LEFT];
    return [
      `<text x="${WIDTH / 2}" y="${y}" text-anchor="middle">${label}</text>`,
      `<path class="way" d="M${start} ${y + 10} H${end}" marker-end="url(#tip)"/>`,
      `<text class="note" x="${WIDTH / 2}" y="${y + 28}" text-anchor="middle">${note}</text>`,
    ];
  });
  const side = (x: number, name: string, has: string) => [
    `<text class="title" x="${x}" y="30" text-anchor="middle">${name}</text>`,
    `<text class="note" x="${x}" y="50" text-anchor="middle">${has}</text>`,
    `<path class="line" d="M${x} 62 V${height - 16}"/>`,
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="Ann sends her keys as points blinded by a, Bob sends his own blinded by b and the tags of Ann's points blinded by both, and Ann answers which of Bob's points are common.">`,
    `<style>
.page { fill: #ffffff; } text { font: 14px system-ui, sans-serif; }
text { fill: #1c1e21; } .note { fill: #57606a; font-size: 12px; } .title { font-weight: 600; }
.way { fill: none; stroke: #0969da; stroke-width: 1.6; } .line { stroke: #8c959f; } .tip { fill: #0969da; }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117; } text { fill: #e6edf3; } .note { fill: #9da7b3; }
  .way { stroke: #58a6ff; } .line { stroke: #6e7681; } .tip { fill: #58a6ff; }
}
</style>`,
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path class="tip" d="M0 0 L8 4 L0 8 Z"/></marker></defs>',
    `<rect class="page" width="${WIDTH}" height="${height}"/>`,
    ...side(LEFT, 'Ann', 'keys x, secret a'),
    ...side(RIGHT, 'Bob', 'keys y, secret b'),
    ...arrows,
    '</svg>',
    '',
  ].join('\n');
}
