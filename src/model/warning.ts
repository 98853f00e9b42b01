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
  'CLIENT_CA_INCOMPLETE',
  'RENEWAL_FAILS',
  'CHALLENGE_UNANSWERED',
  'COOKIE_NOT_SECURE',
  'SNMP_USER_INCOMPLETE',
  'FIELD_WITHOUT_EFFECT',
  'REMARK',
] as const
export type WarningCode = (typeof WARNING_CODES)[number]

/** A warning about a change that can be made all the same. */
export const Warning = Type.Object(
  {
    code: Type.Enum([...WARNING_CODES], {
      description:
        'NO_SERVER_LEFT: a frontend would have no server that takes traffic; REDIRECT_CANNOT_FIRE, HSTS_CANNOT_FIRE: the setting can have no effect; RULE_CANNOT_HOLD: an earlier rule handles all requests that this one could apply to; REDIRECT_LOOP: the redirect target matches the rule again; PROXY_FROM_ANYBODY: anybody who can reach the frontend can forge the client address; FRONTEND_RESTS: the floating IP of the frontend is disabled; CONNECTIONS_END: Layer 4 connections over a floating IP break when it moves to another node; WEIGHTS_MEAN_LITTLE: the balancing algorithm hardly uses the weights, or not at all; CERTIFICATE_EXPIRES: the certificate expires within 30 days, or has expired; CERTIFICATE_UNREACHED: another certificate takes precedence for all of its names, or no rule accepts requests for them; CLIENT_CA_INCOMPLETE: HAProxy refuses the clients of an authority, because its issuer is missing in clientCa; RENEWAL_FAILS: a renewal has failed three times in a row; CHALLENGE_UNANSWERED: a CA would get no answer to its challenge; COOKIE_NOT_SECURE: the cookie is sent over plain HTTP; SNMP_USER_INCOMPLETE: the agent does not know the user; FIELD_WITHOUT_EFFECT: other fields of the record leave fields that are set without effect; REMARK: an observation during the apply.',
    }),
    message: Type.String({ description: 'Description of the warning, with the next step.' }),
    resource: Type.String({ description: 'Section of the record; empty for REMARK.' }),
    resourceId: Type.String({ description: 'Id of the record.' }),
    name: Type.String({ description: 'Name of the record.' }),
  },
  { title: 'Warning', description: 'A warning does not prevent the change.' },
)
export type Warning = Readonly<Static<typeof Warning>>
