// Keys and small behaviours that all pages share. Everything works without this file but the keys.
"use strict";
