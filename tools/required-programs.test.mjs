import { expect, test } from 'vitest';
import { planPrograms, problemAfterInstall, requiredPrograms } from './required-programs.mjs';

/**
 * A machine that has everything, except for the given names and for what `changes` overrides.
 * @param {Partial<import('./required-programs.mjs').Machine> & { without?: string[] }} [options]
 */
function machine({ without = [], ...changes } = {}) {
  const has = (/** @type {string} */ name) => !without.includes(name);
  return { chromiumPath: undefined, isRoot: true, hasCommand: has, hasFile: has, ...changes };
}

const all = requiredPrograms().map(({ command, file }) => command ?? file ?? '');

/**
 * The message of a plan that fails, or undefined.
 * @param {import('./required-programs.mjs').Plan} plan
 */
function messageOf(plan) {
  return plan.action === 'fail' ? plan.message : undefined;
}

test('requiredPrograms gives each entry one command or one file, a package and a purpose', () => {
  for (const { command, file, package: name, for: purpose } of requiredPrograms()) {
    expect([command, file].filter((x) => x !== undefined)).toHaveLength(1);
    expect(name).toMatch(/^[a-z0-9-]+$/);
    expect(purpose).toMatch(/^the /);
  }
});

test('planPrograms is ready when nothing is missing, also without root and apt-get', () => {
  expect(planPrograms(machine())).toEqual({ action: 'ready' });
  expect(planPrograms(machine({ isRoot: false, without: ['apt-get'] }))).toEqual({ action: 'ready' });
});

test('planPrograms installs exactly what is missing, as root', () => {
  const plan = planPrograms(machine({ without: ['pip', '/usr/share/hunspell/en_US.dic'] }));
  expect(plan).toEqual({ action: 'install', packages: ['hunspell-en-us', 'python3-pip'] });
});

test('planPrograms installs every package on a machine that has nothing', () => {
  const plan = planPrograms(machine({ without: all }));
  expect(plan).toEqual({ action: 'install', packages: requiredPrograms().map((program) => program.package) });
});

test('planPrograms gives a user who is not root the line to type', () => {
  const plan = planPrograms(machine({ isRoot: false, without: ['pip', 'git'] }));
  expect(plan.action).toBe('fail');
  const message = messageOf(plan);
  expect(message).toContain(
    '\n  pip (Debian package python3-pip), for the tests of the cache with clients\n',
  );
  expect(message).toContain(
    'sudo apt-get update && sudo apt-get install --no-install-recommends python3-pip git\n',
  );
});

test('planPrograms does not speak of apt-get install on a system without apt-get', () => {
  for (const isRoot of [true, false]) {
    const plan = planPrograms(machine({ isRoot, without: ['tmux', 'apt-get'] }));
    expect(plan.action).toBe('fail');
    const message = messageOf(plan);
    expect(message).toContain('  tmux (Debian package tmux), for');
    expect(message).toContain('This system has no apt-get');
    expect(message).not.toContain('apt-get install');
  }
});

test('planPrograms takes the Chromium of CHROMIUM_PATH in place of the one of Debian', () => {
  const chromiumPath = '/opt/chrome/chrome';
  expect(planPrograms(machine({ chromiumPath, without: ['/usr/bin/chromium'] }))).toEqual({
    action: 'ready',
  });
});

test.each(['/opt/no-such-file', ''])(
  'planPrograms refuses a CHROMIUM_PATH of "%s" before it installs',
  (path) => {
    const plan = planPrograms(machine({ chromiumPath: path, without: [path, 'pip'] }));
    expect(plan.action).toBe('fail');
    expect(messageOf(plan)).toContain(
      `CHROMIUM_PATH to name a Chromium or Chrome, got ${JSON.stringify(path)}`,
    );
  },
);

test('problemAfterInstall is silent when everything is there, whatever apt-get said', () => {
  expect(problemAfterInstall(machine(), { aptFailed: false })).toBeUndefined();
  expect(problemAfterInstall(machine(), { aptFailed: true })).toBeUndefined();
});

test('problemAfterInstall names what is missing though apt-get succeeded', () => {
  const message = problemAfterInstall(machine({ without: ['bloom'] }), { aptFailed: false });
  expect(message).toContain('  bloom (Debian package golang-github-dcso-bloom-cli), for');
  expect(message).toContain('apt-get reported success');
});

test('problemAfterInstall gives the line to try again when apt-get failed', () => {
  const message = problemAfterInstall(machine({ without: ['bloom', 'pip'] }), { aptFailed: true });
  expect(message).toContain('apt-get could not install them');
  expect(message).toContain(
    'apt-get install --no-install-recommends golang-github-dcso-bloom-cli python3-pip\n',
  );
});

test('no message names an undefined program', () => {
  const lists = [all, ...all.map((name) => [name])];
  for (const without of lists) {
    const texts = [
      messageOf(planPrograms(machine({ isRoot: false, without }))),
      messageOf(planPrograms(machine({ without: [...without, 'apt-get'] }))),
      problemAfterInstall(machine({ without }), { aptFailed: false }),
    ];
    for (const text of texts) {
      expect(text).not.toContain('undefined');
      for (const name of without) expect(text).toContain(`  ${name} (`);
    }
  }
});
