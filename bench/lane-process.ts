/** The program of one lane (shared/lane.ts), with the lanes of every subject. */

import { LANES } from './filters/lanes.ts';
import { serveLanes } from './shared/lane.ts';
import { STRUCTURE_LANES } from './structures/structure-lanes.ts';

serveLanes([...LANES, ...STRUCTURE_LANES]);
