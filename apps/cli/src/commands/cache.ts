/**
 * `bloomery cache`: runs an HTTP cache until it is told to stop. docs/guide/cache.md explains what
 * it is and how it is configured. Its options come from the same table as its checks
 * (packages/cache/src/node/config/settings.ts), so none is described twice.
 *
 * The table is imported at once. The rest of the package is loaded when the cache is run, so that
 * `bloomery --help` does not wait for an HTTP client.
 */

import { readFileSync } from 'node:fs';
import { SETTINGS, type Setting } from '@bloomery/cache/settings';
import { type Command, Option } from 'commander';
import { withExamples } from '../command-options.ts';
import { registerPeers } from '../fleet/cache-peers.ts';
import { registerPurge } from '../fleet/cache-purge.ts';
import { registerWarm } from '../fleet/cache-warm.ts';
import { consolePage } from '../fleet/console-page.ts';
import { write, writeLine } from '../terminal/standard-output.ts';
import { UsageError } from '../usage-error.ts';

interface CommandFlags {
  readonly config?: string;
  readonly printConfig?: boolean;
  readonly checkConfig?: boolean;
  readonly quiet?: boolean;
  readonly demo?: boolean;
  readonly keep?: boolean;
}

export function register(program: Command): void {
  const command = program
    .command('cache')
    .description('run an HTTP cache: a forward proxy, or in front of origins')
    .option('-c, --config <file>', 'settings in JSON; flags are stronger')
    .option('--check-config', 'say whether the settings are right, and start nothing')
    .option('--print-config', 'print all settings as a configuration file, and start nothing')
    .option('-q, --quiet', 'do not print how it can be used')
    .option('--demo', 'show three cooperating caches on this machine, with traffic')
    .option('--keep', 'with --demo: leave them running, with traffic, until Ctrl-C (default: at a terminal)')
    .option('--no-keep', 'with --demo: end after the last scene (default: elsewhere)');
  for (const setting of SETTINGS) for (const option of optionsOf(setting)) command.addOption(option);
  command.action(run);
  registerPeers(command);
  registerPurge(command);
  registerWarm(command);
  command.addHelpText(
    'after',
    `
Settings can also stand in the environment: BLOOMERY_CACHE_DISK_SIZE for --disk-size.
SIGTERM and Ctrl-C finish running answers, SIGHUP reads the configuration again, SIGUSR2 opens the access log again.
Exit codes: 0 stopped as asked, 1 a claim of --demo did not hold, 2 could not start.`,
  );
  withExamples(command, [
    ['bloomery cache', 'a forward proxy on 127.0.0.1:3128, for this machine only'],
    ['curl -x http://127.0.0.1:3128 http://example.org/', 'and its use'],
    [
      'bloomery cache --upstream /docs/=https://docs.example/ --listen 127.0.0.1:8080',
      'in front of an origin',
    ],
    [
      'bloomery cache --listen :3128 --allow-client 10.0.0.0/8 --memory 1GB --disk /var/cache/bloomery --disk-size 50GB',
      'for a network',
    ],
    ['bloomery cache --config cache.json --check-config', 'is that file right?'],
    ['bloomery cache --demo', 'three caches that fetch from each other'],
  ]);
}

/**
 * Values stay strings: the package checks them, and its messages quote them as they were written.
 */
function optionsOf(setting: Setting): Option[] {
  const { flag, key, placeholder, several, choices, initial, negatable, help } = setting;
  const shown = initial === '' ? help : `${help} (default: ${initial})`;
  const option = new Option(placeholder === undefined ? `--${flag}` : `--${flag} <${placeholder}>`, shown);
  if (choices !== undefined) option.choices([...choices]);
  if (several) option.argParser((text: string, before: string[] | undefined) => [...(before ?? []), text]);
  option.attributeName = () => key;
  if (!negatable) return [option];
  const off = new Option(`--no-${flag}`).hideHelp();
  off.attributeName = () => key;
  return [option, off];
}

async function run(options: CommandFlags & Record<string, unknown>, command: Command): Promise<void> {
  const { config: file, printConfig: print, checkConfig: check, quiet, demo, keep } = options;
  if (demo) {
    // A person at a terminal looks at the console, which should not go away in front of them.
    process.exitCode = await runDemo(keep ?? process.stdout.isTTY === true);
    return;
  }
  if (keep !== undefined) throw new UsageError(`${keep ? '--keep' : '--no-keep'} belongs to --demo`);
  const { loadConfig, printConfig, runCache, ConfigError } = await import('@bloomery/cache');
  // A default of commander is not a setting that the user gave: `--no-disk` implies the default
  // true.
  const flags = Object.fromEntries(
    SETTINGS.flatMap(({ key }) => (command.getOptionValueSource(key) === 'cli' ? [[key, options[key]]] : [])),
  );
  const sources = { file, environment: process.env, flags };
  if (file !== undefined) readFileSync(file); // throws an error about the file name itself
  try {
    if (print) writeLine(printConfig(loadConfig(sources)));
    else if (check) {
      const { warnings } = loadConfig(sources);
      for (const warning of warnings) writeLine(`warning: ${warning}`);
      writeLine('the settings are right');
    } else {
      const { overlayFinder } = await import('../fleet/overlay-finder.ts');
      process.exitCode = await runCache({
        ...sources,
        findObjects: overlayFinder,
        command: HOW,
        consolePage: consolePage(),
        ...(quiet ? {} : { print: write }),
      });
    }
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

/** Runs the demonstration, which Ctrl-C and SIGTERM end. */
async function runDemo(keep: boolean): Promise<number> {
  const { runFleetDemo } = await import('../demo/fleet-demo.ts');
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  return runFleetDemo({ writeLine, keep, signal: stop.signal });
}

/** The command that started the cache, for the banner (tools/start.mjs). */
const HOW = process.env.npm_lifecycle_event === 'start' ? 'npm start --' : 'bloomery cache';
