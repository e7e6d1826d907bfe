/**
 * The packages as users get them: packed from an unbuilt clone, installed into an empty folder,
 * then read, imported, compiled against and run. Nothing of the repository can be found from there.
 */

import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { EFFORT } from '@bloomery/testkit/effort';
import { NatsServer } from '@bloomery/testkit/programs/nats-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCacheOnce } from './cache-run.ts';
import { cleanEnvironment, installTarballs, npm, packAll, packDependencies } from './tarballs.ts';
import { answersOfThreads, countThreads } from './thread-count.ts';
import { makeUnbuiltClone, publicPackages, REPOSITORY, readManifest } from './unbuilt-clone.ts';

/** Packing builds everything, on a machine that runs other tests meanwhile. */
const SLOW_MS = 900_000;
const PACKAGES = publicPackages();
const VERSION = readManifest(join(REPOSITORY, 'packages/bloomery')).version;
const ENTRIES = PACKAGES.flatMap(({ manifest }) =>
  Object.keys(manifest.exports ?? {}).map((path) => `${manifest.name}${path.slice(1)}`),
);
let folder: string;
let home: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-packed-'));
  home = join(folder, 'home');
  const clone = join(folder, 'clone');
  makeUnbuiltClone(clone);
  // Output of a module that has moved since it was built.
  for (const part of [...PACKAGES.map((one) => `${one.folder}/dist`), 'packages/bloomery/bin']) {
    mkdirSync(join(clone, part), { recursive: true });
    writeFileSync(join(clone, part, 'stale.js'), '');
  }
  const tarballs = join(folder, 'tarballs');
  const own = await packAll(clone, PACKAGES, tarballs);
  await installTarballs(home, [...own, ...(await packDependencies(PACKAGES, tarballs))]);
}, SLOW_MS);
afterAll(() => rmSync(folder, { recursive: true, force: true }), SLOW_MS);

describe.each(PACKAGES)('the tarball of $manifest.name', ({ folder: source, manifest }) => {
  const installed = () => join(home, 'node_modules', manifest.name);
  const files = () =>
    readdirSync(installed(), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(installed().length + 1));

  test('has code, types, sources, a README and the licence, and nothing else', () => {
    const shelves = new Set(files().map((path) => path.split('/')[0]));
    const command = manifest.name === 'bloomery' ? ['bin'] : [];
    expect([...shelves].sort()).toEqual(
      ['LICENSE', 'README.md', ...command, 'dist', 'package.json', 'src'].sort(),
    );
    expect(files().filter((path) => /\.test\.|(^|\/)tests?\/|stale|\.tsbuildinfo$/.test(path))).toEqual([]);
    expect(read('LICENSE')).toBe(readFileSync(join(REPOSITORY, 'LICENSE'), 'utf8'));
  });

  test('has all that every source became, and the maps lead to the sources', () => {
    const sources = files().filter((path) => path.startsWith('src/'));
    expect(sources.length).toBeGreaterThan(3);
    const built = sources.flatMap((path) => {
      const stem = path.replace(/^src\/(.*)\.ts$/, 'dist/$1');
      return [`${stem}.js`, `${stem}.d.ts`, `${stem}.js.map`, `${stem}.d.ts.map`];
    });
    expect(
      files()
        .filter((path) => path.startsWith('dist/'))
        .sort(),
    ).toEqual(built.sort());
    for (const path of built.filter((name) => name.endsWith('.map'))) {
      const { sources: named } = JSON.parse(read(path)) as { sources: string[] };
      expect(named).toHaveLength(1);
      expect(existsSync(join(installed(), dirname(path), named[0])), `${path}: ${named[0]}`).toBe(true);
    }
  });

  test('has types and code for every export', () => {
    const targets = Object.values(manifest.exports ?? {});
    expect(targets.length).toBeGreaterThan(0);
    for (const target of targets) {
      // TypeScript takes the first condition that fits.
      expect(Object.keys(target)).toEqual(['types', 'default']);
      expect(existsSync(join(installed(), target.types)), target.types).toBe(true);
      expect(existsSync(join(installed(), target.default)), target.default).toBe(true);
    }
  });

  test('has a manifest for the registry, and a README that stands alone', () => {
    expect(manifest).toMatchObject({
      version: VERSION,
      license: 'MIT',
      author: 'The Bloomery authors',
      // One entry of the library is imported for its effect: it makes XXH64 available in bundles.
      sideEffects: manifest.name === 'bloomery' ? ['./dist/xxh64.js', './src/xxh64.ts'] : false,
      engines: { node: '>=20.19' },
      repository: { url: 'git+https://github.com/bloomery/bloomery.git', directory: source },
      // Never an empty shell, whichever package is packed.
      scripts: { prepack: 'node ../../tools/build.mjs' },
    });
    expect(manifest.keywords?.length).toBeGreaterThan(3);
    // npm publishes a package with a scope for its owners only, unless it is told otherwise.
    if (manifest.name.startsWith('@')) expect(manifest.publishConfig).toEqual({ access: 'public' });
    for (const [name, range] of Object.entries(manifest.dependencies ?? {})) {
      if (PACKAGES.some((other) => other.manifest.name === name)) expect(range, name).toBe(VERSION);
    }
    const readme = read('README.md');
    expect(readme).toContain(`# ${manifest.name}\n`);
    expect(readme).toContain(`npm install ${manifest.name}\n`);
    expect(readme).toMatch(/Node 20\.19 or later[\s\S]*TypeScript 5\.7 or later/);
    const links = [...readme.matchAll(/\]\(([^)]*)\)/g)].map(([, link]) => link);
    expect(links.filter((link) => !link.startsWith('https://'))).toEqual([]);
  });

  function read(path: string): string {
    return readFileSync(join(installed(), path), 'utf8');
  }
});

describe('imported from an empty folder', () => {
  test('the library needs no other package', () => {
    const { dependencies } = readManifest(join(home, 'node_modules/bloomery'));
    expect(dependencies).toBeUndefined();
  });

  test('every entry can be imported, and a filter is written and read', async () => {
    const { stdout } = await run(
      'imports.mjs',
      `
      ${ENTRIES.map((name, i) => `import * as entry${i} from '${name}';`).join('\n')}
      import { BloomFilter } from 'bloomery';
      const filter = BloomFilter.forCapacity({ capacity: 100, falsePositiveRate: 0.01 });
      filter.add('So What');
      console.log(BloomFilter.decode(filter.encode()).has('So What'));
      console.log([${ENTRIES.map((_, i) => `Object.keys(entry${i}).length`).join()}].every((count) => count > 0));
    `,
    );
    expect(stdout).toBe('true\ntrue\n');
  });

  test('an error in the library is shown where it is in the source', async () => {
    const failing = run(
      'fails.mjs',
      `
      import { BloomFilter } from 'bloomery';
      BloomFilter.decode(new Uint8Array(3));
    `,
      ['--enable-source-maps'],
    );
    await expect(failing).rejects.toThrow(/node_modules\/bloomery\/src\/[\w/-]+\.ts:\d+:\d+/);
  });

  async function run(name: string, code: string, options: readonly string[] = []) {
    writeFileSync(join(home, name), code);
    return promisify(execFile)(process.execPath, [...options, name], { cwd: home, env: cleanEnvironment() });
  }
});

describe('compiled against', () => {
  const CONSUMER = `
    import { BloomFilter } from 'bloomery';
    const filter = BloomFilter.forCapacity({ capacity: 100, falsePositiveRate: 0.01 });
    export const maybe: boolean = filter.has('So What');
    export const bytes: Uint8Array = filter.encode();
    // @ts-expect-error: types are found, so a wrong call is an error
    BloomFilter.forCapacity(3);
  `;

  test.each(['node16', 'bundler'])(
    'the library compiles by %s with no types but its own',
    async (resolution) => {
      const entries = ENTRIES.filter((name) => /^bloomery(\/|$)/.test(name));
      const code = CONSUMER + entries.map((name) => `export type * from '${name}';\n`).join('');
      await compile(`library-${resolution}`, code, resolution, { lib: ['ES2022'], types: [] });
    },
  );

  test.each(['node16', 'bundler'])('all packages compile by %s', async (resolution) => {
    const code = ENTRIES.map((name, i) => `import * as e${i} from '${name}';\nexport { e${i} };\n`).join('');
    await compile(`all-${resolution}`, code, resolution, nodeTypes());
  });

  // From the registry, so in the full form only.
  test.runIf(EFFORT > 1)(
    'all packages compile with the least TypeScript that their READMEs name',
    async () => {
      const old = join(folder, 'typescript');
      mkdirSync(old);
      await npm(old, ['install', '--prefix', old, '--no-audit', '--no-fund', 'typescript@~5.7.0']);
      const code = ENTRIES.map((name, i) => `import * as e${i} from '${name}';\nexport { e${i} };\n`).join(
        '',
      );
      const compiler = join(old, 'node_modules/typescript/bin/tsc');
      await compile('least', CONSUMER + code, 'node16', nodeTypes(), compiler);
    },
  );

  /** Those of this repository, as the empty folder has none. */
  function nodeTypes() {
    return { lib: ['ES2023'], types: ['node'], typeRoots: [join(REPOSITORY, 'node_modules/@types')] };
  }

  async function compile(
    name: string,
    code: string,
    resolution: string,
    options: Readonly<Record<string, unknown>>,
    compiler = join(REPOSITORY, 'node_modules/typescript/bin/tsc'),
  ): Promise<void> {
    writeFileSync(join(home, `${name}.ts`), code);
    const compilerOptions = {
      ...{ noEmit: true, strict: true, skipLibCheck: false, target: 'ES2022', ...options },
      ...{ module: resolution === 'bundler' ? 'ESNext' : resolution, moduleResolution: resolution },
    };
    writeFileSync(join(home, `${name}.json`), JSON.stringify({ compilerOptions, files: [`${name}.ts`] }));
    const problems = await promisify(execFile)(process.execPath, [compiler, '-p', `${name}.json`], {
      cwd: home,
    }).then(
      () => '',
      (error) => error.stdout,
    );
    expect(problems).toBe('');
  }
});

describe('the command from an empty folder', () => {
  test('npx bloomery says its version', async () => {
    expect(await bloomery(['--version'])).toBe(`${VERSION}\n`);
  });

  test('carries the licence of every package inside', () => {
    const text = readFileSync(join(home, 'node_modules/bloomery/bin/THIRD-PARTY-LICENSES.txt'), 'utf8');
    for (const name of ['commander', 'cli-progress', 'zstddec', 'picocolors', 'undici']) {
      expect(text).toMatch(
        new RegExp(`^  ${name} \\d+\\.\\d+\\.\\d+ \\((MIT|ISC|MIT AND BSD-3-Clause)\\)$`, 'm'),
      );
    }
    expect(text.match(/Copyright/gi)!.length).toBeGreaterThanOrEqual(5);
  });

  test(
    'build uses threads and finds all keys again',
    async () => {
      // Threads take part once they have started, which may be after the end of a small file.
      let keys = 500_000;
      for (; ; keys *= 4) {
        const lines = Array.from({ length: keys }, (_, i) => `key ${i}\n`).join('');
        writeFileSync(join(home, 'keys.txt'), lines);
        const { env, log } = countThreads(home);
        await bloomery(['build', 'keys.txt', '-o', 'keys.blm', '--force', '--threads', '2'], env);
        if (answersOfThreads(log, 'hash-worker.js') > 0) break;
        expect(keys, 'keys in a file that no thread helped with').toBeLessThan(8_000_000);
      }
      expect(await bloomery(['check', 'keys.blm', 'keys.txt', '--count'])).toBe(`${keys}\n`);
    },
    SLOW_MS,
  );

  test(
    'papers computes in threads',
    async () => {
      const { env, log } = countThreads(home);
      const printed = await bloomery(
        ['papers', 'compressed-tables', '--trials', '10', '--jobs', '2', '--json'],
        env,
      );
      expect(JSON.parse(printed)).toMatchObject({ trials: 10, within: true });
      expect(answersOfThreads(log, 'papers-worker.js')).toBeGreaterThan(0);
    },
    SLOW_MS,
  );

  test(
    'cache --workers 2 answers, knows its version, and ends at SIGTERM',
    async () => {
      const command = join(home, 'node_modules/.bin/bloomery');
      const result = await runCacheOnce(command, home);
      expect(result.bodies).toEqual(['from the origin', 'from the origin']);
      expect(result.asked).toBe(1);
      expect(result.metrics).toContain(`version="${VERSION}"`);
      expect(
        result.log
          .filter(({ event }) => event === 'listening')
          .map(({ worker }) => worker)
          .sort(),
      ).toEqual([0, 1]);
      expect(result.exit).toBe(0);
    },
    SLOW_MS,
  );

  test(
    'cache --nats has the NATS client, and connects to a server',
    async () => {
      await using server = await NatsServer.start();
      const secret = join(home, 'fleet.secret');
      writeFileSync(secret, 'fleet-secret-of-the-test-0123456789\n', { mode: 0o600 });
      const flags = ['--nats', server.url, '--peer-listen', '127.0.0.1:0', '--peer-secret', secret];
      const command = join(home, 'node_modules/.bin/bloomery');
      const result = await runCacheOnce(command, home, { flags, event: 'nats-connected' });
      expect([result.asked, result.exit]).toEqual([1, 0]);
    },
    SLOW_MS,
  );

  async function bloomery(args: readonly string[], env = cleanEnvironment()): Promise<string> {
    // --no: npx must not look for the command anywhere else.
    const { stdout } = await promisify(execFile)('npx', ['--no', '--', 'bloomery', ...args], {
      cwd: home,
      env,
    });
    return stdout;
  }
});
