/** The reproduction of the papers, for a program that runs it: `bloomery papers` does. */

export { PARTS } from './parts.ts';
export {
  type Host,
  type PapersOptions,
  reproduce,
  TRIALS_IN_DOCUMENTS,
  TRIALS_ON_SCREEN,
} from './reproduce.ts';
