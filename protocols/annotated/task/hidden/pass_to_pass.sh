sh greeting.sh Ada | grep -q "hello Ada"
