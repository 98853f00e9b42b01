/** What the API's parameters are called here. */
export const OWN_WORDS = [
  ['apply without refuseWarnings', 'apply with --accept-warnings'],
  ['send confirmWithin', 'apply with --confirm 60s'],
  ['unless you confirm it, or force true', 'unless you say fulcrum confirm'],
  ['plan with takeOver', 'plan with --take-over'],
  ['{"changes": [ids]}', '--only ID'],
  ['{"mine": true}', '--mine'],
  ['DELETE /services/pending?mine=true', 'fulcrum discard --mine'],
  ['DELETE /services/pending/{changeId}', 'fulcrum discard ID'],
  ['see GET /services/pending', 'see fulcrum pending'],
  ['PUT /services/apply/confirm keeps', 'fulcrum confirm keeps'],
  ['PUT /services/apply/revert takes', 'fulcrum revert takes'],
  ['GET /cluster tells', 'fulcrum cluster status tells'],
  ['PUT /cluster/resolve says', 'fulcrum cluster resolve says'],
  ['PUT /cluster/takeover goes', 'fulcrum cluster takeover goes'],
  [
    'delete some with DELETE /backup/{filename}',
    'delete some of fulcrum backup list with fulcrum api DELETE /backup/FILE',
  ],
  ['X-Backup-Passphrase', 'The passphrase (--passphrase, or FULCRUM_PASSPHRASE beside it)'],
  ['DELETE /backup/uploads makes room', 'fulcrum api DELETE /backup/uploads makes room'],
] as const

/** What the API says, in words of this program. */
export const inOwnWords = (said: string): string =>
  OWN_WORDS.reduce((text, [theirs, own]) => text.replaceAll(theirs, own), said)
