[ "$(sh greeting.sh Ada)" = "hello Ada!" ]
