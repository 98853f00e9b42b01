/** Texts about alerts. */
export const germanOfAlerts: Readonly<Record<string, string>> = {
  Alerts: 'Alarme',
  'New rule': 'Neue Regel',
  'New target': 'Neues Ziel',
  'No rules yet.': 'Noch keine Regel.',
  'No targets yet.': 'Noch kein Ziel.',
  'No alerts are firing.': 'Kein Alarm ist aktiv.',
  Rule: 'Regel',
  Rules: 'Regeln',
  Silence: 'Stummschalten',
  Target: 'Ziel',
  Targets: 'Ziele',
  'Firing alerts, alert rules and notification targets.': 'Aktive Alarme, Alarmregeln und Ziele der Benachrichtigung.',
  silenced: 'stumm',
  'Nothing is monitored yet: add a rule.': 'Noch wird nichts überwacht: Legen Sie eine Regel an.',
  'A rule defines a condition, such as a server that is down, and the targets to notify.':
    'Eine Regel legt eine Bedingung fest, etwa einen gestörten Server, und welche Ziele benachrichtigt werden.',
  'A target is where notifications are sent: e-mail, a webhook or chat, syslog, SNMP.':
    'An ein Ziel gehen Benachrichtigungen: E-Mail, ein Webhook oder Chat, Syslog, SNMP.',
  'All alerts': 'Alle Alarme',
  'End the silence of {name}': 'Stummschaltung von {name} beenden',
  'No active silences.': 'Nichts ist stummgeschaltet.',
  Silences: 'Stummschaltungen',
}
