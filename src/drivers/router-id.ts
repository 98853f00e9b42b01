/**
 * Name of a keepalived. Without it keepalived asks DNS for the machine's name at each start, reload and check of a
 * file, and blocks until DNS has answered or timed out.
 */
export const ROUTER_ID = 'router_id fulcrum'
