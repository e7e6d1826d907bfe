/**
 * A node of a later version, for tests of a rolling upgrade: the sources of now, with changes that
 * the specification allows a later version to make. There is no older release with neighbours that
 * could take part instead. Each change replaces one text, which must occur exactly once.
 */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { PROGRAM_BUILD } from '../node/cache-program.ts';

interface Change {
  /** The end of the path of the changed file. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const CHANGES: readonly Change[] = [
  // Speaks another protocol as well, and prefers it.
  { file: 'transport/dist/http/hello.js', from: 'PROTOCOLS = [1];', to: 'PROTOCOLS = [2, 1];' },
  // Says more in its hello.
  {
    file: 'transport/dist/http/hello.js',
    from: 'protocols: PROTOCOLS }',
    to: "protocols: PROTOCOLS, colour: { deep: [1] }, region: 'north' }",
  },
  // Sends frames of another kind.
  {
    file: 'transport/dist/http/stream-server.js',
    from: 'this.#writeHello(stream, gap);',
    to: `this.#writeHello(stream, gap);
         const later = Buffer.from('a frame of a later version');
         this.#write(stream, { kind: 9, topic: 0, payload: later, digest: sha256(later) });`,
  },
  // Signs with another part in the field.
  {
    file: 'transport/dist/http/signature.js',
    from: 'return `v=1; node=',
    to: 'return `v=1; later=1; node=',
  },
  // Publishes another kind of summary beside that of now, first.
  {
    file: 'src/peers/own-summary.ts',
    from: 'transport.publish(SUMMARY_TOPIC, message);',
    to: `const later = message.slice();
         later[4] = 3;
         transport.publish(SUMMARY_TOPIC, later);
         transport.publish(SUMMARY_TOPIC, message);`,
  },
  // Has another field in its answers with objects.
  {
    file: 'src/peers/objects/object-response.ts',
    from: "headers.push('Trailer', DIGEST_TRAILER);",
    to: "headers.push('Bloomery-Later', 'a; b=c', 'Trailer', DIGEST_TRAILER);",
  },
  // Has another parameter in its questions, and another field.
  {
    file: 'src/peers/objects/object-request.ts',
    from: "fields.push('Bloomery-Ask', ask.kind",
    to: "fields.push('Bloomery-Wish', 'x', 'Bloomery-Ask', ask.kind",
  },
  {
    file: 'src/peers/objects/object-request.ts',
    from: "=== 'stored' ? 'stored' :",
    to: "=== 'stored' ? 'stored; later=1' :",
  },
  // Asks owners in a form that others cannot read, half of the time.
  {
    file: 'src/peers/decisions/owner-question.ts',
    from: 'export function encodeQuestion(question: OwnerQuestion): Uint8Array {',
    to: `export function encodeQuestion(question: OwnerQuestion): Uint8Array {
           if (question.hash.low % 2 === 1) return Uint8Array.of(2, 1, 7, 7, 7);`,
  },
];

/** Builds the program of a later version into a folder. Returns its path. */
export async function bundleLaterProgram(folder: string): Promise<string> {
  const outdir = join(folder, 'dist', 'operation');
  mkdirSync(outdir, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "version": "9.0.0", "type": "module" }\n');
  const made = new Set<Change>();
  await build({
    ...PROGRAM_BUILD,
    outfile: join(outdir, 'program.js'),
    plugins: [
      {
        name: 'later version',
        setup(setup) {
          setup.onLoad({ filter: /\.(ts|js)$/ }, ({ path }) => {
            const changes = CHANGES.filter(({ file }) => path.endsWith(file));
            if (changes.length === 0) return undefined;
            let contents = readFileSync(path, 'utf8');
            for (const change of changes) {
              const { from, to, file } = change;
              if (contents.split(from).length !== 2)
                throw new Error(`Cannot make a later version: expected ${from} once in ${file}`);
              contents = contents.replace(from, () => to);
              made.add(change);
            }
            return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' };
          });
        },
      },
    ],
  });
  if (made.size < CHANGES.length)
    throw new Error(`Cannot make a later version: expected ${CHANGES.length} changes, got ${made.size}`);
  return join(outdir, 'program.js');
}
