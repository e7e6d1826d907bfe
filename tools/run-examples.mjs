// Runs every program in examples/ and every ```ts block of the READMEs and of docs/ against the
// built packages. An example asserts what it claims; one that throws, prints to stderr or hangs
// fails. So does one that does not compile under strict, as in a user's project.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';
import { readWorkspaces } from './workspaces.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
// Inside the repository, so that 'bloomery' resolves as it does for a user.
const scratch = join(root, 'node_modules', '.cache', 'bloomery-examples');
mkdirSync(scratch, { recursive: true });
let failed = 0;
let ran = 0;

for (const name of readdirSync(join(root, 'examples')).filter((file) => /\.m?[jt]s$/.test(file))) {
  const path = join(root, 'examples', name);
  await run(`examples/${name}`, readFileSync(path, 'utf8'), name.endsWith('ts'));
}
for (const path of markdownFiles()) {
  const blocks = [...readFileSync(path, 'utf8').matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(
    (match) => match[1],
  );
  for (const [i, code] of blocks.entries()) await run(`${relative(root, path)}, block ${i + 1}`, code, true);
}
checkTypes();
rmSync(scratch, { recursive: true });
console.log(`examples: ${ran - failed} of ${ran} ran`);
if (failed > 0) process.exit(1);

/**
 * @param {string} title
 * @param {string} source
 * @param {boolean} isTypeScript
 */
async function run(title, source, isTypeScript) {
  ran++;
  const { code } = isTypeScript ? await transform(source, { loader: 'ts', format: 'esm' }) : { code: source };
  const file = join(scratch, `example-${ran}.mjs`);
  writeFileSync(file, code);
  if (isTypeScript) {
    const name = title.replaceAll(/[^a-zA-Z0-9]+/g, '-');
    writeFileSync(join(scratch, `${name}.ts`), `${source}\nexport {};\n`);
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
    cwd: scratch,
    encoding: 'utf8',
    timeout: 60_000,
  });
  if (status === 0 && stderr === '') return;
  failed++;
  console.error(`${title} failed:\n${stdout}${stderr}`);
}

/** Compiles all of them at once. */
function checkTypes() {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'es2022',
    lib: ['es2023', 'dom'],
    module: 'nodenext',
    types: ['node'],
    skipLibCheck: true,
  };
  const project = join(scratch, 'tsconfig.json');
  writeFileSync(project, JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', project], { encoding: 'utf8' });
  if (status === 0) return;
  failed++;
  console.error(`examples do not compile under strict:\n${stdout}`);
}

function markdownFiles() {
  const docs = readdirSync(join(root, 'docs'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
  const packages = readWorkspaces(root).map(({ folder }) => join(root, folder, 'README.md'));
  return [join(root, 'README.md'), ...packages.filter((path) => existsSync(path)), ...docs];
}
