/**
 * What a keepalived is called. Without it keepalived asks DNS for the name of the machine at each start, reload and
 * check of a file, and does nothing else until DNS has answered or given up.
 */
export const ROUTER_ID = 'router_id fulcrum'
