/** A route node as a process, for Node. */

export { RouteDaemon, type RouteDaemonOptions } from './route-daemon.ts';
