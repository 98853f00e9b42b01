/** The names of the API's parameters in this program. */
export const OWN_WORDS = [
  ['apply without refuseWarnings', 'apply with --accept-warnings'],
  ['send confirmWithin', 'apply with --confirm 60s'],
  ['unless you confirm it, or force true', 'unless you run fulcrum confirm'],
  ['plan with takeOver', 'plan with --take-over'],
  ['{"changes": [ids]}', '--only ID'],
  ['{"mine": true}', '--mine'],
  ['listed in errors', 'listed below'],
  // This program only names changes that were pending when it asked.
  [
    'The body names changes that are not pending',
    'Somebody else has applied or discarded some of these changes: see fulcrum log and fulcrum pending',
  ],
  ['X-Backup-Passphrase', 'The passphrase (--passphrase or FULCRUM_PASSPHRASE)'],
] as const

/** The names of the API's operations in this program. Any other operation is sent with `fulcrum api`. */
export const OWN_COMMANDS = [
  ['DELETE /cluster/nodes/ID', 'fulcrum cluster leave'],
  ['DELETE /cluster/nodes/ID?force=true', 'fulcrum cluster leave --force'],
  ['DELETE /services/pending', 'fulcrum discard --all'],
  ['DELETE /services/pending?mine=true', 'fulcrum discard --mine'],
  ['DELETE /services/pending/{changeId}', 'fulcrum discard ID'],
  ['GET /backup/list', 'fulcrum backup list'],
  ['GET /cluster', 'fulcrum cluster status'],
  ['GET /healthchecks', 'fulcrum get checks'],
  ['GET /services/apply', 'fulcrum status'],
  ['GET /services/pending', 'fulcrum pending'],
  ['PUT /cluster/resolve', 'fulcrum cluster resolve'],
  ['PUT /cluster/takeover', 'fulcrum cluster takeover'],
  ['PUT /services/apply', 'fulcrum apply'],
  ['PUT /services/apply/confirm', 'fulcrum confirm'],
  ['PUT /services/apply/revert', 'fulcrum revert'],
] as const

/** Not in messages about a right: an administrator grants it under this name, with `fulcrum role add --allow`. */
const OPERATION = /(?<!\bgrants? |\bright to )\b(?:GET|POST|PUT|DELETE) \/[\w{}/?=-]+(?:\.[\w]+)*/g
const commandOf = new Map<string, string>(OWN_COMMANDS)

/** Translates a message of the API into the words of this program. */
export const inOwnWords = (said: string): string =>
  OWN_WORDS.reduce((text, [theirs, own]) => text.replaceAll(theirs, own), said).replaceAll(
    OPERATION,
    (operation) => commandOf.get(operation.replace(/(\/nodes\/)[\w-]+/, '$1ID')) ?? `fulcrum api ${operation}`,
  )
