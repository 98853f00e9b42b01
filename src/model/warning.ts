import { Type, type Static } from 'typebox'

export const WARNING_CODES = [
  'NO_SERVER_LEFT',
  'REDIRECT_CANNOT_FIRE',
  'REDIRECT_LOOP',
  'PROXY_FROM_ANYBODY',
  'RULE_CANNOT_HOLD',
  'HSTS_CANNOT_FIRE',
  'FRONTEND_RESTS',
  'CONNECTIONS_END',
  'WEIGHTS_MEAN_LITTLE',
  'CERTIFICATE_EXPIRES',
  'CERTIFICATE_UNREACHED',
  'RENEWAL_FAILS',
  'CHALLENGE_UNANSWERED',
  'COOKIE_NOT_SECURE',
  'SNMP_USER_INCOMPLETE',
  'REMARK',
] as const
export type WarningCode = (typeof WARNING_CODES)[number]

/** A warning about a change that can be made all the same. */
export const Warning = Type.Object(
  {
    code: Type.Enum([...WARNING_CODES], {
      description:
        'NO_SERVER_LEFT: a frontend would have no server that takes traffic; REDIRECT_CANNOT_FIRE, HSTS_CANNOT_FIRE: what was switched on can have no effect; RULE_CANNOT_HOLD: one before it takes every request, or every one that it is for; REDIRECT_LOOP: it leads to where it holds as well; PROXY_FROM_ANYBODY: whoever reaches a frontend names its client; FRONTEND_RESTS: its floating IP is disabled; CONNECTIONS_END: those of Layer 4 over a floating IP, when it moves to another node; WEIGHTS_MEAN_LITTLE: the way of balancing heeds them little or not at all; CERTIFICATE_EXPIRES: in 30 days, or it has; CERTIFICATE_UNREACHED: another one stands before it for all of its names, or no rule takes requests for them; RENEWAL_FAILS: three times in a row; CHALLENGE_UNANSWERED: a CA would ask in vain; COOKIE_NOT_SECURE: it is sent over plain HTTP; SNMP_USER_INCOMPLETE: the agent does not know the user; REMARK: something that the apply met.',
    }),
    message: Type.String({ description: 'The same for people, with what to do about it.' }),
    resource: Type.String({ description: 'Section of the record; empty for a remark.' }),
    resourceId: Type.String({ description: 'Id of the record.' }),
    name: Type.String({ description: 'Name of the record.' }),
  },
  { title: 'Warning', description: 'What should be known although the change can be made.' },
)
export type Warning = Readonly<Static<typeof Warning>>
